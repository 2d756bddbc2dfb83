package price

// All returns the models of every provider of the catalogue.
func All() (all []map[string]map[string]Price) {
	eachSection(func(name, _, models string) {
		all = append(all, map[string]map[string]Price{name: readModels(models)})
	})
	return all
}
