module nvtop-lite/internal/schematest

go 1.25.0

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	nvtop-lite v0.0.0
)

require golang.org/x/text v0.14.0 // indirect

replace nvtop-lite => ../..
