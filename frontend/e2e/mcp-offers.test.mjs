// What a person puts into a message of an MCP server: a resource and a prompt; and the switch for one conversation.
import assert from 'node:assert/strict'
import { expect } from '@playwright/test'
import { withPets } from './asking.mjs'
import { faults, LOOKS, withMiniclaw } from './fixtures.mjs'
import { settled, shot } from './harness.mjs'

const test = withMiniclaw({
  prepare: withPets('book'),
})

const composer = page => page.locator('[data-composer]')
const option = (page, name) => page.getByRole('option', { name })

for (const { look, given, small } of LOOKS)
  test(`a resource is attached, a prompt used and a server switched off in ${look}`, async ({
    app,
    open,
  }) => {
    const page = await open(given)
    await composer(page).pressSequentially('About @pe')
    await expect(option(page, 'pets')).toBeVisible()
    await composer(page).press('Enter')
    await expect(composer(page)).toHaveValue('About @pets:')
    await expect(option(page, /The first/)).toBeVisible()
    await composer(page).press('ArrowDown')
    await composer(page).press('ArrowUp')
    await shot(page, `mcp-resources-${look}`)
    assert.deepEqual(await faults(page), [])
    await composer(page).press('Enter')
    await expect(page.locator('bdi', { hasText: 'pets-1.txt' })).toBeVisible()
    await expect(composer(page)).toHaveValue('About ')

    await composer(page).fill('')
    await composer(page).pressSequentially('/pets:fe')
    await expect(option(page, /Feed a pet/)).toBeVisible()
    await composer(page).press('Escape')
    await expect(option(page, /Feed a pet/)).toHaveCount(0)
    await composer(page).pressSequentially('e')
    await option(page, /Feed a pet/).click()
    const form = page.getByRole('dialog', { name: 'Feed a pet' })
    await form.getByLabel('pet').fill('the cat')
    await shot(page, `mcp-prompt-${look}`)
    await form.getByRole('button', { name: /^(Put into the message|放入消息)$/ }).click()
    await expect(composer(page)).toHaveValue('Feed the cat now.')

    const permissions = page.getByRole('button', { name: /^(Permissions|权限)/ })
    await permissions.click()
    await page.getByRole('menuitemcheckbox', { name: /^pets/ }).click()
    await expect(permissions).toHaveAccessibleName(/1 MCP server off|1 个 MCP 服务器已关闭/)
    await permissions.click()
    await shot(page, `mcp-switch-${look}`)
    await page.keyboard.press('Escape')
    await composer(page).focus()
    await composer(page).press(small ? 'Control+Enter' : 'Enter')
    await page.locator('[role=log] article').getByText('All right.').waitFor()
    await settled(page)
    const asked = (await app.requests()).filter(body => JSON.stringify(body).includes('Feed the cat now.'))
    assert.ok(asked.length > 0)
    assert.ok(!JSON.stringify(asked.map(body => body.tools)).includes('mcp__pets'))
  })
