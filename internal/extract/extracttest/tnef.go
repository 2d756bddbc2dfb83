package extracttest

import "encoding/binary"

// TNEF makes a TNEF file (MS-OXTNEF) of attributes, each a number with its type and the content. The checksums are
// right.
func TNEF(attributes ...TNEFAttribute) []byte {
	out := []byte("\x78\x9f\x3e\x22\x01\x00")
	for _, a := range attributes {
		out = append(out, a.Level)
		out = binary.LittleEndian.AppendUint32(out, a.ID)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(a.Data)))
		sum := uint16(0)
		for _, b := range a.Data {
			sum += uint16(b)
		}
		out = binary.LittleEndian.AppendUint16(append(out, a.Data...), sum)
	}
	return out
}

// TNEFAttribute is an attribute of the message (level 1) or of an attachment (level 2).
type TNEFAttribute struct {
	Level byte
	ID    uint32
	Data  string
}

// TNEFProperty is a property with a value of any size, in the form in which attributes hold it after the number of values.
func TNEFProperty(kind, tag uint16, value string) string {
	head := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, kind), tag)
	head = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(head, 1), uint32(len(value)))
	return string(head) + value + "\x00\x00\x00"[:-len(value)&3]
}
