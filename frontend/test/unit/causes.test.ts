// What the operating system and libraries say of a failure, in the language of the page.
import { describe, expect, it } from 'vitest'
import { ApiError } from '@/api/client'
import { loadLocale, sayOfServer, setLang } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { failureIn, ofSkill, type Say, unreadableIn } from '@/lib/server'
import { causes } from '@/locales/zh/causes'
import { rustSource } from '../rust'

await loadLocale('zh')
const zh: Say = (key, about) => sayOfServer('zh', key, about)
const unreachable = (cause: string) =>
  failureIn(zh, 'unreachable', { provider: 'P', address: 'a', trouble: 'other', cause })
const told = (cause: string) => /（a）：(.*)。请检查网络连接后重试。$/.exec(unreachable(cause) ?? '')?.[1]

describe('a cause', () => {
  it.each([
    ['Permission denied (os error 13)', '权限不足'],
    ['No space left on device (os error 28)', '磁盘空间不足'],
    ['Network is unreachable (os error 101)', '网络不可达'],
    ['connection reset by peer', '连接被对方重置'],
    ['operation timed out', '操作超时'],
    ['reading memory/a.md: Permission denied (os error 13)', '读取 memory/a.md：权限不足'],
    ['writing sessions/.lock: Read-only file system (os error 30).', '写入 sessions/.lock：文件系统为只读'],
    // A phrase that is not translated is quoted, and the cause after it is translated.
    [
      'keeping what files were, for an undo: No space left on device (os error 28)',
      '“keeping what files were, for an undo”：磁盘空间不足',
    ],
    ['reading my notes.md: Is a directory (os error 21)', '“reading my notes.md”：是文件夹'],
    ['the moon is in the way', '“the moon is in the way”'],
    ['Wrong medium type (os error 124)', '“Wrong medium type (os error 124)”'],
    // Names, codes and addresses are no phrases.
    ['EIO', 'EIO'],
    ['http://other/v1', 'http://other/v1'],
    ['证书 无效', '证书 无效'],
    // Values from outside are not searched for names.
    ['reading {cause}: Broken pipe', '读取 {cause}：连接已断开'],
    ['constructor x: __proto__: $& $1', '“constructor x: __proto__: $& $1”'],
    ['constructor', 'constructor'],
  ])('%s', (cause, expected) => expect(told(cause)).toBe(expected))

  it('is translated wherever the server tells one', async () => {
    const denied = 'reading a.md: Permission denied (os error 13)'
    expect(unreadableIn(zh, { code: 'not_opened', detail: denied })).toBe(
      '无法打开文件：读取 a.md：权限不足。',
    )
    expect(ofSkill(zh, denied, { code: 'unreadable', about: { reason: denied } })).toBe(
      '无法读取：读取 a.md：权限不足',
    )
    expect(failureIn(zh, 'prompt_unreadable', { file: 'SOUL.md', cause: denied })).toContain(
      '无法读取（读取 a.md：权限不足）',
    )
    const error = new ApiError(500, {
      code: 'io',
      message: 'saving a.md: Read-only file system (os error 30)',
    })
    expect(reasonOf(error)).toBe('saving a.md: Read-only file system (os error 30)')
    await setLang('zh')
    expect(reasonOf(error)).toBe('读写文件失败：保存 a.md：文件系统为只读')
    await setLang('en')
  })

  it('is not looked for in other values, nor quoted in a sentence of the server', () => {
    const about = { provider: 'broken pipe', cause: 'Broken pipe' }
    expect(failureIn(zh, 'interrupted', about)).toMatch(/^broken pipe 的回复已中断（连接已断开）/)
    expect(failureIn(zh, 'too_long', { message: 'a title has too many characters' })).toBe(
      '内容过长：a title has too many characters',
    )
  })

  it('is as the server told it in English', () => {
    expect(sayOfServer('en', 'unreachable.other', { cause: 'Broken pipe' })).toBeNull()
  })
})

describe('the table', () => {
  it('has the usual errors of Linux and macOS', () => {
    const usual = [
      ...['Permission denied', 'Operation not permitted', 'No such file or directory', 'File exists'],
      ...['Not a directory', 'Is a directory', 'Directory not empty', 'File name too long', 'File too large'],
      ...['Too many open files', 'No space left on device', 'Disk quota exceeded', 'Read-only file system'],
      ...['Input/output error', 'Device or resource busy', 'Resource busy', 'Cannot allocate memory'],
      ...['Connection refused', 'Connection reset by peer', 'Connection timed out', 'Operation timed out'],
      ...['Broken pipe', 'Network is unreachable', 'Network is down', 'No route to host', 'Host is down'],
    ]
    for (const words of usual) expect(told(`${words} (os error 1)`), words).toMatch(/^[一-鿿/]+$/)
  })

  it('has keys that can be found: in lower case and without a number', () => {
    for (const key of Object.keys(causes)) {
      expect(key).toBe(key.toLowerCase())
      expect(key).toMatch(/^(cause|doing)\.[^()]+[^.()]$/)
    }
  })

  it('names only actions that the server does', () => {
    const rust = ['store', 'engine'].map(rustSource).join()
    for (const key of Object.keys(causes).filter(key => key.startsWith('doing.')))
      expect(rust, key).toContain(`"${key.slice('doing.'.length)} `)
  })
})
