package loadgen

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units are the times of a written rate, in seconds.
var units = map[string]float64{"s": 1, "m": 60, "h": 3600}

// ParseRate reads a rate that is written like 50, 50/s, 30/m or 6/h: a number that is not
// negative, of requests in a second, a minute or an hour. It returns requests a second, which may
// be 0 or more than a generator sends.
func ParseRate(text string) (perSecond float64, err error) {
	number, unit, divided := strings.Cut(text, "/")
	per := 1.0
	if divided {
		number, per = strings.TrimSpace(number), units[strings.TrimSpace(unit)]
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || per == 0 || !(v >= 0) || math.IsInf(v, 0) || math.Signbit(v) {
		return 0, fmt.Errorf("the rate %q is not valid: write it like 50/s or 30/m", text)
	}
	return v / per, nil
}

// rateText formats requests a second for people, to six places.
func rateText(perSecond float64) string {
	const places = 1e6
	if short := math.Round(perSecond*places) / places; short > 0 {
		perSecond = short
	}
	return strconv.FormatFloat(perSecond, 'g', -1, 64)
}
