package browser

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var updateScreenshots = flag.Bool("update-screenshots", false, "write the pictures of docs/img")

const (
	pictures    = "../../../docs/img"
	mostPicture = 200 << 10 // bytes
)

// TestTheDocumentsShowThePagesAsTheyAre looks at the pages as the documents show them:
// dark and light, in both languages, at a desk and on a phone. The pictures are written
// by -update-screenshots alone: they differ by the fonts of a machine.
func TestTheDocumentsShowThePagesAsTheyAre(t *testing.T) {
	s := newShop(t)
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Red shoes"}, item("shoe-42", 40))
	soon := s.sale(t, time.Now().Add(2*time.Hour), map[string]any{"title": "Blue hats"}, item("hat", 300))
	for i := range 12 {
		s.must(t, http.StatusAccepted, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", fmt.Sprintf("early-%d", i), "", `{"sku":"shoe-42","quantity":1}`)
	}

	w := s.console(t, "night-shift", tabOptions{})
	w.screen(1280, 1000, false)
	w.scheme("light", "rgb(244, 243, 240)")
	w.await(tileLine("stock", sale+"/shoe-42", ".value")+`?.textContent`, "28")
	w.await(`String(Number(`+tileLine("stock", sale+"/shoe-42", "svg")+`.dataset.points) > 10)`, "true")
	for i := range 5 {
		s.must(t, http.StatusAccepted, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", fmt.Sprintf("late-%d", i), "", `{"sku":"shoe-42","quantity":1}`)
	}
	w.await(`String(Number(`+tileLine("stock", sale+"/shoe-42", "svg")+`.dataset.points) > 25)`, "true")
	w.shows("console-light")
	w.scheme("dark", "rgb(23, 22, 20)")
	w.act(sale, "release")
	w.do(chromedp.Click("#act-quantity"), chromedp.KeyEvent("10"), chromedp.Click("#act-next"))
	w.await(`document.querySelector('#act-do').disabled`, "false")
	w.shows("console-action")

	phone := s.console(t, "night-shift", tabOptions{language: "zh-CN"})
	phone.screen(360, 740, true)
	phone.scheme("dark", "rgb(23, 22, 20)")
	phone.await(`String(document.querySelectorAll('.tile').length)`, "8")
	phone.await(`String(Number(`+tileLine("stock", sale+"/shoe-42", "svg")+`.dataset.points) > 5)`, "true")
	phone.shows("console-phone")

	for name, c := range map[string]struct{ sale, scheme, language string }{
		"buyer-page": {sale, "light", "en-US"}, "buyer-page-waiting": {soon, "dark", "zh-CN"},
	} {
		p := s.open(t, c.sale, tabOptions{buyer: "alice", language: c.language})
		p.screen(360, 640, true)
		p.scheme(c.scheme, "")
		p.await(`String(document.querySelector('main').dataset.phase !== '')`, "true")
		p.await(`String(document.querySelectorAll('[data-sku]').length > 0)`, "true")
		if c.sale == sale {
			p.free("shoe-42")
		}
		p.shows(name)
	}
}

// scheme makes the browser prefer dark or light; back is the colour that the page then
// has, "" where it is not looked at.
func (w *tab) scheme(name, back string) {
	w.t.Helper()
	w.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}))
	if back != "" {
		w.await(`getComputedStyle(document.body).backgroundColor`, back)
	}
}

// shows says that the page does not scroll sideways and that the documents have its
// picture, which it makes anew when told to.
func (w *tab) shows(name string) {
	w.t.Helper()
	if got := w.text("document.documentElement.scrollWidth <= innerWidth"); got != "true" {
		w.t.Errorf("%s: the page is wider than the window", name)
	}
	path := filepath.Join(pictures, name+".png")
	if *updateScreenshots {
		png, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.MkdirAll(pictures, 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, png, 0o644)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Size() == 0 || st.Size() > mostPicture {
		w.t.Errorf("%s: %v, want a picture of up to %d bytes; make it by -update-screenshots", path, err, mostPicture)
	}
}
