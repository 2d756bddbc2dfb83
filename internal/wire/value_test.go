package wire

import "testing"

// A value that is not an object has no members, and one that is not an array has no elements.
func TestValue_OfAnotherTypeIsEmpty(t *testing.T) {
	for _, body := range []string{
		"null", "true", "false", "0", "1.0", "-1e3", "1e400", `""`, `"x"`, `"{"`, `"[\"]"`, "[]", "[1]", `[{"a":1}]`, "{}", `{"a":1}`, `{"a":[{}]}`,
	} {
		v := Value(body)
		object, isObject := v.Object()
		for key := range object.Members() {
			if !isObject {
				t.Errorf("%s is no object and has the member %q", body, key)
			}
		}
		if _, found := object.Get("a"); found && !isObject {
			t.Errorf(`%s is no object and has "a"`, body)
		}
		elements, isArray := v.Elements()
		for e := range elements {
			if !isArray {
				t.Errorf("%s is no array and has the element %s", body, e)
			}
		}
		v.Bool()
		v.Text()
		v.Number()
		v.IsNull()
	}
	var absent Value
	if _, ok := absent.Object(); ok {
		t.Error("a value that is not there is an object")
	}
}
