package browser

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// TestWhyIsSaidInChinese: the reasons of a receipt, and what a finding is, its cause and its
// repair, in the language of the page.
func TestWhyIsSaidInChinese(t *testing.T) {
	var rig *e2e.Rig
	s := newShopOn(t, func(t testing.TB) *e2e.Rig {
		rig = e2e.NewRig(t)
		return rig
	})
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Told"}, item("a", 1))
	purchases := "/api/v1/sales/" + sale + "/purchases"
	order := s.must(t, http.StatusAccepted, http.MethodPost, purchases, "teller", "", `{"sku":"a","quantity":1}`).Text("order_id")
	refused := s.must(t, http.StatusConflict, http.MethodPost, purchases, "late", "", `{"sku":"a","quantity":1}`)
	testenv.Eventually(t, patience, func() error {
		done, err := rig.Pool.Exec(t.Context(), `update order_view set refund_due = true where order_id = $1`, order)
		if err == nil && done.RowsAffected() == 0 {
			err = errors.New("the view does not have the order yet")
		}
		return err
	})
	w := s.console(t, "helpdesk", tabOptions{language: "zh-CN"})
	w.do(chromedp.SetValue("#search-id", refused.Text("receipt")), chromedp.Click("#search-form button"))
	w.await(`document.querySelector('#search-found .badge')?.textContent`, "拒绝正确")
	w.await(`[...document.querySelectorAll('#search-found li[lang="zh-CN"]')].map((n) => n.textContent).join('\n')`, "a：当时投放 1，占用 1，退回 0，剩余 0。\n请求数量：1。")
	w.do(chromedp.Click("#language"))
	w.await(`[...document.querySelectorAll('#search-found li[lang="en"]')].map((n) => n.textContent).join('\n')`, "Of a: on sale by then 1, taken 1, given back 0, left 0.\nAsked for: 1.")
	w.do(chromedp.Click("#language"))
	w.act(sale, "reconcile")
	w.do(chromedp.Click("#act-next"))
	w.await(`String(`+actFound+`.includes('refund_due 为 true，应为 false · 可能原因：有人手工改动了视图 · 修复方式：按日志重新折叠 order_view'))`, "true")
	w.shut()
}
