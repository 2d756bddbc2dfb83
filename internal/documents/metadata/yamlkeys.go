package metadata

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checkKeys reports a wrong key in terms of the file, where the decoder's error would name types of this
// program. A file that passes may still fail to decode.
func checkKeys(data []byte, into any) error {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return yamlError(err)
	}
	if len(document.Content) == 0 {
		return nil // it is empty
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		if root.Tag == "!!null" {
			return nil
		}
		return fmt.Errorf("line %d: it must consist of lines \"key: value\"", root.Line)
	}
	known := reflect.TypeOf(into).Elem()
	var names []string
	fields := map[string]reflect.Type{}
	for i := range known.NumField() {
		name := known.Field(i).Tag.Get("yaml")
		names = append(names, name)
		fields[name] = known.Field(i).Type
	}
	slices.Sort(names)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		want, ok := fields[key.Value]
		switch {
		case !ok:
			return fmt.Errorf("line %d: there is no key %q; the keys are %s", key.Line, key.Value, strings.Join(names, ", "))
		case want == reflect.TypeFor[*string]() && value.Kind != yaml.ScalarNode && value.Kind != yaml.AliasNode:
			return fmt.Errorf("line %d: %s must be one text", value.Line, key.Value)
		case want == reflect.TypeFor[*int]() && value.Tag != "!!int" && value.Tag != "!!null":
			return fmt.Errorf("line %d: %s must be a whole number", value.Line, key.Value)
		}
	}
	return nil
}
