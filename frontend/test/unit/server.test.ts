import { describe, expect, it, vi } from 'vitest'
import { ApiError, hasCode } from '@/api/client'
import { getStatus } from '@/api/endpoints'
import { sayOfServer, setLang, t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import {
  badTestIn,
  becauseIn,
  failureIn,
  ofSkill,
  problemIn,
  type Say,
  textIn,
  unreadableIn,
} from '@/lib/server'
import { server } from '@/locales/zh/server'
import { advance } from '@/thread/advance'
import { fromHistory } from '@/thread/history'
import { emptyThread } from '@/thread/model'
import { rustSource, rustStrings } from '../rust'
import { FRAMES, historyAt } from './frames'

const zh: Say = (key, about) => sayOfServer('zh', key, about)
const inQuotes = (text: string): string[] => [...text.matchAll(/"([a-z_]+)"/g)].map(([, word]) => word ?? '')
const bodyOf = (text: string, head: string): string => {
  const from = text.indexOf(head)
  expect(from, head).toBeGreaterThan(-1)
  return text.slice(from, text.indexOf('\n    }\n', from))
}

describe('why a file cannot be read', () => {
  it('has a translation for every code of the server', () => {
    const codes = inQuotes(bodyOf(rustSource('retrieval/extract/mod.rs'), 'pub fn code(&self)'))
    expect(codes.length).toBeGreaterThan(10)
    for (const code of codes) expect(server, code).toHaveProperty([`unreadable.${code}`])
  })

  it('includes the system’s message, or falls back to the server’s words', () => {
    expect(unreadableIn(zh, { code: 'too_deep' })).toBe('嵌套层级过深，无法读取。')
    expect(unreadableIn(zh, { code: 'not_opened', detail: 'EIO' })).toBe('无法打开文件：EIO。')
    expect(unreadableIn(zh, { code: 'not_opened' })).toBeNull()
    expect(unreadableIn(zh, { code: 'newer' })).toBeNull()
    expect(unreadableIn(() => null, { code: 'too_deep' })).toBeNull()
  })
})

describe('a message about a skill', () => {
  it('has a translation for every code of the server', () => {
    const made = ['skills/message.rs', 'engine/skills.rs'].map(rustSource).join()
    const direct = [...made.matchAll(/::new\(\s*"([a-z0-9_]+)"/g)].map(([, code]) => code)
    const codes = [...direct, ...[...made.matchAll(/=> "(unlisted_[a-z_]+)"/g)].map(([, code]) => code)]
    expect(codes.length).toBeGreaterThan(15)
    for (const code of codes) expect(server, code).toHaveProperty([`skill.${code}`])
  })

  it('falls back to the server’s words', () => {
    const folder = { code: 'folder_name', about: { folder: 'tea' } }
    expect(ofSkill(zh, 'other agents …', folder)).toBe('其他智能体要求名称与文件夹名称 tea 一致。')
    expect(ofSkill(() => null, 'other agents …', folder)).toBe('other agents …')
    expect(ofSkill(zh, 'as it was', undefined)).toBe('as it was')
  })
})

it('every reason why a line is not a test has a translation', () => {
  const codes = [...rustSource('retrieval/cases.rs').matchAll(/=> \("([a-z_]+)"/g)].map(([, code]) => code)
  expect(codes).toHaveLength(3)
  for (const code of codes) expect(server, code).toHaveProperty([`bad_test.${code}`])
  const bad = { code: 'not_a_test', message: 'expected value', reason: 'expected value' }
  expect(badTestIn(zh, bad)).toBe(
    'expected value。格式示例：{"query": "…", "file": "notes.md", "heading": "…"}',
  )
  expect(badTestIn(zh, { code: 'newer', message: 'as told' })).toBe('as told')
})

it('a sentence without a code is translated if the server still says it', () => {
  const rust = ['prompt/system.rs', 'domain/compacted.rs'].map(rustStrings).join()
  const sentences = [...rust.matchAll(/"([^"]*)"/g)].map(([, text]) => text?.replace(/\([^)]*\)/g, '()'))
  const said = Object.keys(server).filter(key => key.startsWith('text.'))
  expect(said.length).toBeGreaterThan(10)
  for (const key of said) expect(sentences).toContain(key.slice('text.'.length))
  expect(textIn(zh, 'Soul')).toBe('灵魂')
  expect(textIn(zh, 'later messages were compacted after them (a.json): restore those first')).toMatch(
    /^此后/,
  )
  expect(textIn(zh, 'Moon')).toBe('Moon')
  expect(textIn(() => null, 'Soul')).toBe('Soul')
})

it('the problem with a file is translated by its code', () => {
  const file = { problem: 'not UTF-8 text', problem_code: 'not_utf8' }
  expect(problemIn(zh, file)).toBe('不是 UTF-8 文本文件。')
  expect(problemIn(() => null, file)).toBe('not UTF-8 text')
  expect(problemIn(zh, { ...file, problem_code: 'newer_word' })).toBe('not UTF-8 text')
  expect(problemIn(zh, {})).toBeNull()
})

describe('why a work failed', () => {
  const provider = 'DeepSeek'
  it('includes the details that the server sent', () => {
    const auth = { provider, key: 'not_accepted', setting: 'DEEPSEEK_API_KEY', said: 'Bad {key}' }
    expect(failureIn(zh, 'auth', auth)).toBe(
      'DeepSeek 拒绝了该 API 密钥。请检查 DEEPSEEK_API_KEY。服务商消息：“Bad {key}”。',
    )
    expect(failureIn(zh, 'server', { provider, status: '503' })).toBe(
      'DeepSeek 返回服务器错误（503）。请稍后重试。',
    )
    expect(failureIn(zh, 'rate_limited', { provider, after: '86400' })).toContain('24 小时')
    expect(failureIn(zh, 'rate_limited', { provider, after: '30' })).toContain('30 秒')
    expect(failureIn(zh, 'context_overflow', { limit: '8192' })).toContain('8192')
    expect(failureIn(zh, 'context_overflow', {})).toContain('压缩')
  })

  it('falls back to the server’s words if a translation or a detail is missing', () => {
    expect(failureIn(zh, 'tool_failed', {})).toBeNull()
    expect(failureIn(zh, 'toString', {})).toBeNull()
    expect(failureIn(zh, 'auth', {})).toBeNull()
    expect(failureIn(zh, 'empty', { provider })).toBeNull()
    expect(failureIn(() => null, 'server', { provider, status: '503' })).toBeNull()
  })

  it('has a translation for every code of the server', () => {
    const keys = Object.keys(server).map(key => key.split('.')[0])
    const codes = inQuotes(bodyOf(rustSource('provider/error.rs'), 'pub fn code(&self)'))
    expect(codes.length).toBeGreaterThan(10)
    for (const code of codes) expect(keys, code).toContain(code)
    const params = rustSource('provider/error_params.rs')
    for (const [type, code] of [
      ['KeyProblem', 'auth'],
      ['TimeoutPhase', 'timeout'],
      ['ConnectionFailure', 'unreachable'],
    ]) {
      const words = inQuotes(bodyOf(params, `impl ${type} {`))
      expect(words.length, type).toBeGreaterThan(1)
      for (const word of words) expect(server, `${code}.${word}`).toHaveProperty([`${code}.${word}`])
    }
  })

  it('arrives with the frame, and again with the history', () => {
    const about = { provider, status: '503' }
    const told = { code: 'server', retryable: true, about }
    const frame = {
      type: 'error',
      error: 'It has a fault.',
      session_id: 's',
      work_id: 'w1',
      ...told,
    } as const
    const [begun] = FRAMES
    if (!begun) throw new Error('no frames')
    const live = [begun, frame].reduce(advance, emptyThread('s')).entries.at(-1)
    const outcome = { kind: 'error', message: 'It has a fault.', ...told }
    expect(live).toMatchObject({ outcome })
    const message = { role: 'assistant' as const, work_id: 'w1', error: 'It has a fault.' }
    const history = { ...historyAt(0), messages: [message], running: null }
    const again = fromHistory({ ...history, failures: [{ work_id: 'w1', ...told }] }).entries.at(-1)
    expect(again).toMatchObject({ outcome })
    const old = fromHistory(history).entries.at(-1)
    expect(old).toMatchObject({ outcome: { ...outcome, code: 'error', about: {} } })
  })
})

it('an error of the API is translated to the language of the page if possible', async () => {
  const body = { code: 'empty', message: 'It returned nothing.', about: { provider: 'Ollama', model: 'm' } }
  const answered = new ApiError(502, body)
  expect(reasonOf(answered)).toBe('It returned nothing.')
  await setLang('zh')
  expect(reasonOf(answered)).toMatch(/^Ollama 的 m /)
  expect(reasonOf(new ApiError(502, { ...body, about: { provider: 7 } }))).toBe('It returned nothing.')
  expect(reasonOf(new ApiError(404, { code: 'not_found', message: 'Gone.' }))).toBe(server.not_found)
  expect(reasonOf(new ApiError(400, { code: 'bad_path', message: 'No .. in it.' }))).toBe('No .. in it.')
  await setLang('en')
  expect(reasonOf(new ApiError(404, { code: 'not_found', message: 'Gone.' }))).toBe('Gone.')
})

it('a code of the API has a translation, or its message alone is specific', () => {
  const source = rustSource('api/error.rs')
  const codes = [...source.matchAll(/(?:StatusCode::\w+,|bad_request\()\s*"(\w+)"/g)].map(([, code]) => code)
  expect(codes.length).toBeGreaterThan(25)
  const inMessage = [
    'bad_arguments',
    'bad_path',
    'bad_session_id',
    'io',
    'refused',
    'stays_archived',
    'too_large',
  ]
  const inPage = ['disk_full', 'unknown_model']
  for (const code of new Set(codes)) {
    const isSaid = sayOfServer('zh', code ?? '') !== null
    expect(isSaid, code).toBe(!inMessage.includes(code ?? '') && !inPage.includes(code ?? ''))
  }
})

it('a call without a response is explained in the language of the page', async () => {
  vi.stubGlobal('fetch', async () => {
    throw new TypeError('Failed to fetch')
  })
  const error: unknown = await getStatus().catch((error: unknown) => error)
  vi.unstubAllGlobals()
  expect(hasCode(error, 'no_answer')).toBe(true)
  expect(reasonOf(error)).toBe(t('noAnswer'))
})

describe('why a call needs an approval', () => {
  it('is translated as a whole or not at all', () => {
    expect(becauseIn(zh, { code: 'configured' })).toBe('此操作需要批准。')
    expect(becauseIn(zh, { code: 'outside', text_from: 'outside' })).toMatch(/^不受信任的内容可能.*。$/)
    expect(becauseIn(zh, { code: 'persona', text_from: 'output' })).toMatch(
      /需要批准；不受信任的内容（命令输出）/,
    )
    expect(becauseIn(zh, { code: 'outside', text_from: 'skill', file: 'skills/a.md' })).toContain(
      'skills/a.md',
    )
    expect(becauseIn(zh, { code: 'outside', text_from: 'skill' })).toBeNull()
    expect(becauseIn(zh, { code: 'persona', text_from: 'moon' })).toBeNull()
    expect(becauseIn(zh, { code: 'moon' })).toBeNull()
    expect(becauseIn(zh, null)).toBeNull()
  })

  it('has a translation for every reason of the server', () => {
    const policy = rustSource('tools/policy.rs')
    const codes = [...policy.matchAll(/\basks\(\s*"(\w+)"/g)].map(([, code]) => code)
    expect(new Set(codes)).toEqual(
      new Set(['persona', 'network', 'reads', 'outside', 'unfenced', 'configured']),
    )
    for (const code of codes) if (code !== 'outside') expect(server).toHaveProperty([`because.${code}`])
    const from = inQuotes(bodyOf(policy, 'fn because(taint'))
    expect(new Set(from)).toEqual(
      new Set(['page', 'document', 'attachment', 'command', 'skill', 'output', 'imported', 'outside']),
    )
    for (const word of from) expect(server).toHaveProperty([`from.${word}`])
  })
})
