// Past conversations in RAG mode: a person switches them on, and the card above the answer leads to their messages.
import assert from 'node:assert/strict'
import { LOOKS, withMiniclaw } from './fixtures.mjs'
import { answers, ask, settled, shot, until } from './harness.mjs'

const test = withMiniclaw({
  replies: [{ repeat: true, steps: [{ text: 'Her name is Zelnik.' }, { finish: 'stop' }] }],
})

/** Sends a message, whatever the language of the page. */
async function say(page, text) {
  const box = page.getByRole('textbox', { name: /^(Message|消息)$/ })
  await box.fill(text)
  // With an on-screen keyboard Enter inserts a line break.
  await box.press('Control+Enter')
}

const status = app => ask(app, '/api/status')

for (const [number, { look, given }] of LOOKS.entries()) {
  const zh = given.lang === 'zh'
  const [rag, past] = zh
    ? ['记忆检索', '同时搜索过往对话']
    : ['Memory retrieval', 'Also search past conversations']
  const cellar = `cellar${number}`

  test(`past conversations are retrieved once a person wants it (${look})`, async ({ app, open }) => {
    const page = await open(given)
    await say(page, `My landlord of the ${cellar} is called Zelnik.`)
    await answers(page).getByText('Her name is Zelnik.').waitFor()
    await settled(page)
    const said = page.url()
    await page.keyboard.press('ControlOrMeta+Comma')
    const dialog = page.getByRole('dialog', { name: /^(Settings|设置)$/ })
    await dialog.getByRole('switch', { name: rag }).first().click()
    const choice = dialog.getByRole('switch', { name: past })
    await choice.waitFor()
    assert.equal((await status(app)).rag_conversations, false)
    await choice.click()
    await until(
      () => status(app),
      now => now.rag_mode && now.rag_conversations,
      'the switch',
    )
    await choice.scrollIntoViewIfNeeded()
    await shot(page, `recall-rag-switch-${look}`)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.goto(`${app.url}/`)
    await say(page, `Who is the landlord of the ${cellar}?`)
    await answers(page).getByText('Her name is Zelnik.').waitFor()
    await settled(page)
    const answer = answers(page).last()
    await answer.locator('details > summary').first().click()
    const link = answer.getByRole('listitem').filter({ hasText: cellar }).getByRole('link')
    await link.first().waitFor()
    assert.equal(await answer.getByText('> My landlord').count(), 0, 'without the marks that the model reads')
    await shot(page, `recall-rag-card-${look}`)
    await link.first().click()
    await page.locator('[data-target]').getByText(`My landlord of the ${cellar}`).waitFor()
    assert.ok(page.url().startsWith(said), `${page.url()} is in ${said}`)
    await shot(page, `recall-rag-message-${look}`)
    const off = { method: 'PUT', headers: { 'content-type': 'application/json' } }
    await ask(app, '/api/config/rag-mode', { ...off, body: '{"enabled": false, "conversations": false}' })
  })
}
