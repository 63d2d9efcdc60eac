/** After a decision, the focus that was on its card goes to the next card that waits, else to the message box. */
export function goOn(id: string): void {
  const focused = document.activeElement
  const card = focused?.closest('[data-approval]')
  // The message or the pane has it if the card was gone before the server's response.
  const lost = focused?.matches('body, #pane-chat, [role=log] article')
  if (!lost && card?.getAttribute('data-approval') !== id) return
  const next = [...document.querySelectorAll<HTMLElement>('[data-approval]')].find(
    other => other.dataset.approval !== id,
  )
  // A touch screen would show its keyboard.
  const box = matchMedia('(pointer: coarse)').matches
    ? null
    : document.querySelector<HTMLElement>('[data-composer]')
  ;(next ?? box)?.focus()
}
