package wire

import "testing"

func TestAppendUSD_IsExact(t *testing.T) {
	for micros, want := range map[int64]string{
		0: "0", 1: "0.000001", 10: "0.00001", 11_000: "0.011", 1_000_000: "1", 1_500_000: "1.5", 12_345_678: "12.345678",
		-3: "-0.000003", 9_007_199_254_740_993: "9007199254.740993",
	} {
		if got := string(AppendUSD(nil, micros)); got != want {
			t.Errorf("%d is %s, want %s", micros, got, want)
		}
	}
}
