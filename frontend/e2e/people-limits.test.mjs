// What an administrator sees of people on a real server, and the limits that they set for a person.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { ADMIN, asked, dialog, isNarrow, multi, signedIn, tooWide, VIEWS } from './accounts.mjs'
import { faults, withMiniclaw } from './fixtures.mjs'
import { answers, say, settled, shot } from './harness.mjs'

const test = withMiniclaw(multi('limits: {day: {tokens: 900000}}\n'))

const row = (page, name) => dialog(page).getByRole('listitem').filter({ hasText: name })
const form = page => dialog(page).getByRole('form')

async function openPeople(page) {
  if (isNarrow(page)) await page.locator('nav').last().getByRole('button').first().click()
  await page
    .locator('#pane-left')
    .getByRole('button', { name: /^(Signed in as|已登录：)/ })
    .click()
  await page.getByRole('menuitem', { name: /^(People|用户管理)$/ }).click()
  await row(page, ADMIN).waitFor()
}

async function openLimits(page, name) {
  await row(page, name)
    .getByRole('button', { name: new RegExp(`^(Actions for ${name}|${name} 的操作)$`) })
    .click()
  await page.getByRole('menuitem', { name: /^(Set limits|设置限额)$/ }).click()
  await form(page).waitFor()
}

test('an administrator limits a person, corrects a mistake, and lifts the limit again', async ({
  app,
  open,
}) => {
  const bob = await signedIn({ open, app }, 'bob')
  await say(bob, 'hello')
  await answers(bob).getByText('All right.').waitFor()
  await settled(bob)

  const ada = await signedIn({ open, app }, ADMIN)
  await openPeople(ada)
  await expect(row(ada, 'bob')).toContainText('1 conversation ')
  await expect(row(ada, 'bob')).toContainText(/Tokens this month: [1-9]/)
  await expect(row(ada, 'bob')).toContainText('of files')
  await openLimits(ada, 'bob')
  const day = form(ada).getByLabel('Tokens per day')
  await expect(day).toBeFocused()
  const limits = async () => {
    const { body } = await asked(ada, '/api/admin/people')
    return body.data.items.find(person => person.username === 'bob').limits ?? null
  }
  // Neither a list nor an odd number gets to the server.
  for (const wrong of ['1,2', '[5]', '-1', '1.5', 'many', '1e30']) {
    await day.fill(wrong)
    await day.press('Enter')
    await expect(form(ada).getByRole('alert')).toHaveText(
      'Enter a whole number of 0 or more, or leave the field empty.',
    )
    await expect(day).toBeFocused()
    await expect(day).toHaveAttribute('aria-invalid', 'true')
  }
  await day.fill('')
  await form(ada).getByLabel('Cost per month').fill('2,50')
  await form(ada).getByLabel('Cost per month').press('Enter')
  await expect(form(ada).getByLabel('Cost per month')).toHaveAttribute('aria-invalid', 'true')
  await form(ada).getByLabel('Cost per month').fill('2.5')
  await form(ada).getByLabel('Currency').fill('euros, please')
  await form(ada).getByLabel('Currency').press('Enter')
  await form(ada).getByRole('alert').waitFor()
  assert.equal(await limits(), null)
  await form(ada).getByLabel('Currency').fill('eur')
  await day.fill('0')
  await day.press('Enter')
  await expect(form(ada)).toHaveCount(0)
  await row(ada, 'bob').getByText('Limits set').waitFor()
  await expect(row(ada, 'bob').getByRole('button', { name: 'Actions for bob' })).toBeFocused()
  assert.equal((await limits()).month.currency, 'EUR')

  // It counts from the next request on.
  await say(bob, 'and now?')
  await bob
    .getByText(/administrator|admin/)
    .first()
    .waitFor()
  await settled(bob)

  await openLimits(ada, 'bob')
  await expect(day).toHaveValue('0')
  await form(ada).getByRole('button', { name: 'Use the server’s limits' }).click()
  await expect(form(ada)).toHaveCount(0)
  await expect(row(ada, 'bob').getByText('Limits set')).toHaveCount(0)
  assert.equal(await limits(), null)
  await say(bob, 'again')
  await expect(answers(bob).getByText('All right.')).toHaveCount(2)
})

for (const [view, look] of VIEWS)
  test(`people and limits: ${view}`, async ({ app, open }) => {
    await signedIn({ open, app }, 'someone-with-a-rather-long-name')
    const page = await signedIn({ open, app }, ADMIN, look)
    const check = async what => {
      assert.deepEqual(await faults(page), [], what)
      assert.ok((await tooWide(page)) <= 0, `${what}: too wide`)
      await shot(page, `limits-${what}-${view}`)
    }
    await openPeople(page)
    await expect(row(page, ADMIN)).toContainText(/of files|文件 /)
    await check('people')
    await openLimits(page, 'someone-with-a-rather-long-name')
    await form(page).locator('input').first().fill('1,2')
    await form(page).locator('input').first().press('Enter')
    await form(page).getByRole('alert').waitFor()
    await check('form')
  })
