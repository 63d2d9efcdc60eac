import { QueryClientProvider } from '@tanstack/react-query'
import { act, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it } from 'vitest'
import { queryClient } from '@/api/queries'
import type { ModelCandidate, ModelStatus } from '@/api/types'
import ModelDialog from '@/features/model/ModelDialog'
import { ModelPicker } from '@/features/model/ModelPicker'
import { commandsNote, levelWord, sandboxNote } from '@/features/settings/sandbox'
import { sayOfServer, setLang } from '@/lib/i18n'
import type { Say } from '@/lib/server'
import { rustStrings } from '../rust'

const zh: Say = (key, about) => sayOfServer('zh', key, about)

afterEach(() => act(() => setLang('en')))

describe('the sandbox', () => {
  const rust = rustStrings('sandbox/mod.rs')
  const told = (code: string, about: Record<string, string> = {}) =>
    sandboxNote(zh, { level: 'standard', note: 'in English', code, about })

  it('is described in the language of the page', () => {
    expect(told('standard')).toMatch(/^命令在沙箱（Landlock 和 seccomp）中运行：.*无法访问网络。$/)
    expect(told('standard', { signals: 'open' })).toMatch(/无法访问网络。在此内核/)
    expect(told('strict', { program: '/usr/bin/bwrap' })).toContain('命名空间（/usr/bin/bwrap）')
    expect(told('no_landlock', { version: '1', needed: '3' })).toMatch(/^无法运行命令：.*版本为 1，.*版本 3/)
  })

  it('has a translation for every code of the server', () => {
    const codes = [...rustStrings('sandbox/status.rs').matchAll(/Self::\w+[^=]*=> "(\w+)"/g)].map(
      ([, code]) => code,
    )
    expect(codes).toEqual(['off', 'standard', 'strict', 'no_landlock', 'no_bubblewrap'])
    const about = { program: 'p', version: '1', needed: '3' }
    for (const code of codes) expect(told(code ?? '', about), code).toMatch(/[一-鿿]/)
  })

  it('says why a person has no commands, for every code of the server', () => {
    const ofSandbox = ['off', 'no_landlock', 'no_bubblewrap']
    const own = [...rustStrings('sandbox/person.rs').matchAll(/Self::\w+[^=]*=> "(\w+)"/g)].map(
      ([, code]) => code ?? '',
    )
    expect(own).toContain('taken_uids')
    const about = { uid: '1', version: '1', needed: '3', missing: 'm', reason: 'r', ids: 'i', file: 'f' }
    for (const code of ['own_user', ...ofSandbox, ...own]) {
      const told = commandsNote(zh, { available: false, note: 'in English', code, about })
      expect(told, code).toMatch(/[一-鿿]/)
    }
    expect(commandsNote(zh, { available: false, note: 'in English', code: 'x', about })).toBe('in English')
  })

  it('falls back to the server’s words for unknown codes and missing values', () => {
    expect(told('another')).toBe('in English')
    expect(told('strict')).toBe('in English')
    const given = { level: 'off', note: 'in English', code: 'off', about: {} }
    expect(sandboxNote(() => null, given)).toBe('in English')
  })

  it('has a label for every level', () => {
    const names = [...rust.matchAll(/Level::\w+ => "(\w+)"/g)].map(([, name]) => name ?? '')
    expect(names).toEqual(['strict', 'standard', 'off'])
    for (const name of names) expect(levelWord(name), name).not.toBeNull()
    expect(levelWord('toString')).toBeNull()
  })
})

const status = (given: Partial<ModelStatus>): ModelStatus => ({
  ...{
    provider: 'none',
    model: '',
    label: '',
    state: 'none',
    small: false,
    context_window: 0,
    vision: false,
  },
  ...given,
})

describe('the dialog of the model', () => {
  const show = (model: ModelStatus) =>
    render(
      <QueryClientProvider client={queryClient}>
        <ModelDialog model={model} open onOpenChange={() => {}} />
      </QueryClientProvider>,
    )
  const [none] = /No model connected[^"]*/.exec(rustStrings('engine')) ?? ['']

  it('says only once that there is no model, in either language', async () => {
    expect(none.length).toBeGreaterThan(100)
    const { unmount } = show(status({ detail: none }))
    expect(screen.getAllByText(/No model connected/)).toHaveLength(1)
    unmount()
    await setLang('zh')
    show(status({ detail: none }))
    expect(screen.queryByText(/No model connected/)).toBeNull()
    expect(screen.getByText('尚未连接模型')).toBeTruthy()
  })

  it('shows a detail that the state lacks', () => {
    show(status({ state: 'failed', detail: 'The port is taken.' }))
    expect(screen.getByText('The port is taken.')).toBeTruthy()
  })
})

it('the source of a model is translated, except for file names', async () => {
  const from = [
    'environment',
    '.env',
    'config.yml',
    /"(found [^"]+)"\.to_owned/.exec(rustStrings('engine'))?.[1] ?? '',
    'the moon',
  ]
  const available = from.map((from, i): ModelCandidate => {
    const id = `m${i}`
    return {
      ...{ id, name: id, model: id, label: id, from },
      ...{ provider: 'p', context_window: 1, thinking: false, vision: false },
    }
  })
  await setLang('zh')
  const current = status({ state: 'ready', label: 'm' })
  const props = {
    model: current,
    models: { current, available, favorites: [] },
    chosen: {},
    onChoose: () => {},
    onConnect: () => {},
  }
  render(
    <main>
      <ModelPicker {...props} />
    </main>,
  )
  await userEvent.setup().click(screen.getByRole('button'))
  const shown = (await screen.findAllByRole('menuitemcheckbox')).map(item => item.lastChild?.textContent)
  expect(shown.slice(1)).toEqual(['环境变量', '.env', 'config.yml', '在本机检测到', 'the moon'])
})
