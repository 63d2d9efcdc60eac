import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { DIALOGS } from '@/app/dialogTable'

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
const read = (name: string): string => readFileSync(`src/${name}`, 'utf8')
const opened = /(?:dialog: (?:\{ name: )?|openDialog\(\{ name: |toggleDialog\()'(\w+)'/g

const commands = files.filter(name => /[cC]ommands\.ts$/.test(name)).map(read)
/** The dialogs that a command opens, by their names. */
const withCommand = new Set([...commands.flatMap(text => [...text.matchAll(opened)].map(([, name]) => name))])

/** What a component says to open a dialog without its command. The X-ray, the operations and the changes of an answer are no commands. */
const bypasses = (text: string): string[] => [
  ...[...text.matchAll(opened)]
    .filter(([, name]) => withCommand.has(name) && !['xray', 'operations', 'changes'].includes(name ?? ''))
    .map(([found]) => found),
  ...[
    ...text.matchAll(
      /name: '(?:xray|operations|changes)', work: null|\b(setTheme|nextLang|switchRag|signOut)\(/g,
    ),
  ].map(([found]) => found),
]

it('a component opens a dialog by its command', () => {
  expect([...withCommand].filter(name => name && !(name in DIALOGS))).toEqual([])
  expect(withCommand.size).toBeGreaterThan(7)
  const found = files
    .filter(name => name.endsWith('.tsx') && name !== 'app/dialogTable.tsx')
    .flatMap(name => bypasses(read(name)).map(what => `${name}: ${what}`))
  expect(found).toEqual([])
})

it('a component that bypasses a command is detected, and others are not', () => {
  expect(bypasses("set({ dialog: { name: 'usage' } })")).toEqual(["dialog: { name: 'usage'"])
  expect(bypasses("openDialog({ name: 'usage' })")).toEqual(["openDialog({ name: 'usage'"])
  expect(bypasses("toggleDialog('settings')")).toEqual(["toggleDialog('settings'"])
  expect(bypasses("openDialog({ name: 'xray', work: null })")).toEqual(["name: 'xray', work: null"])
  expect(bypasses("openDialog({ name: 'operations', work: null })")).toHaveLength(1)
  expect(bypasses("openDialog({ name: 'changes', work: null })")).toHaveLength(1)
  expect(bypasses('void signOut()')).toEqual(['signOut('])
  expect(bypasses("openDialog({ name: 'xray', work: id }); openDialog({ name: 'undo', work })")).toEqual([])
  expect(bypasses("run('usage'); useCommand('signOut'); set({ dialog: null })")).toEqual([])
})
