import { describe, expect, it, vi } from 'vitest'
import { ApiError, hasCode } from '@/api/client'
import { getStatus } from '@/api/endpoints'
import { sayOfServer, setLang, t } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import {
  badTestIn,
  becauseIn,
  failureIn,
  limitIn,
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
    '“expected value”。格式示例：{"query": "…", "file": "notes.md", "heading": "…"}',
  )
  expect(badTestIn(zh, { code: 'newer', message: 'as told' })).toBe('as told')
})

it('every reason why an entry of a command cannot be applied has a translation', () => {
  const reasons = [...rustSource('tools/captured.rs').matchAll(/Refusal::\w+ => "([^"]+)"/g)].map(
    ([, why]) => why,
  )
  expect(reasons.length).toBeGreaterThan(4)
  for (const reason of reasons) expect(server, reason).toHaveProperty([`refused.${reason}`])
})

it('a sentence without a code is translated if the server still says it', () => {
  const rust = ['prompt/system.rs', 'prompt/project.rs', 'domain/compacted.rs'].map(rustStrings).join()
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

it('why a run reached a limit is translated if the server still says it', () => {
  const rust = ['agent/run.rs', 'agent/turn.rs', 'agent/calls.rs'].map(rustStrings).join()
  const told = [...rust.matchAll(/"([^"\n]*)"/g)].map(([, text = '']) =>
    text.replace('same {tool} call', 'same … call').replace(/\{[\w.]+\}|\{\}/, '#'),
  )
  const keys = Object.keys(server).filter(key => key.startsWith('limit.'))
  expect(keys).toHaveLength(6)
  for (const key of keys) expect(told).toContain(key.slice('limit.'.length))
  expect(limitIn(zh, 'it wrote more than 32000 tokens')).toBe('输出超过 32000 词元')
  expect(limitIn(zh, 'the model asked for the same find_2 call 5 times')).toBe(
    '模型 5 次请求相同的 find_2 调用',
  )
  expect(limitIn(zh, 'the moon set 3 times')).toBe('the moon set 3 times')
  expect(limitIn(() => null, 'it took longer than 3 minutes')).toBe('it took longer than 3 minutes')
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
  const badPath = new ApiError(400, { code: 'bad_path', message: 'No .. in it.' })
  expect(reasonOf(badPath)).toBe('路径无效：No .. in it.')
  expect(reasonOf(new ApiError(400, { code: 'bad_root', message: 'No root.' }))).toBe('No root.')
  await setLang('en')
  expect(reasonOf(badPath)).toBe('No .. in it.')
  expect(reasonOf(new ApiError(404, { code: 'not_found', message: 'Gone.' }))).toBe('Gone.')
})

/** The codes of errors in Rust source, and how calls name a code that is not written at the call. */
function errorCodes(source: string) {
  const bodies = [...source.matchAll(/\bfn code\(&self\)[\s\S]*?\n {4}\}/g)].join()
  const written = [
    // After a status: `ApiError::new(StatusCode::CONFLICT, "…")`, and rows of a table of them.
    ...source.matchAll(/\bStatusCode::\w+,\s*"(\w+)"/g),
    // Of functions and closures that have a status of their own.
    ...source.matchAll(/\b(?:bad_request|refused)\(\s*"(\w+)"/g),
    ...source.matchAll(/\bfailed\([^;]*?,\s*"(\w+)"\)/g),
    ...source.matchAll(/=> \("(\w+)",/g),
    ...bodies.matchAll(/=> "(\w+)"/g),
  ]
  const status = String.raw`(?:(?:\w+::)*StatusCode::\w+|status|\w+\.status\(\))`
  const call = String.raw`\b(?:ApiError|Self)::(?:new\(\s*${status},|bad_request\()\s*([^"\s,][^,]*),`
  return {
    codes: new Set(written.map(([, code]) => code ?? '')),
    unwritten: new Set([...source.matchAll(new RegExp(call, 'g'))].map(([, name]) => name ?? '')),
  }
}

/** Codes without a translation, with the reason. */
const EXCUSED: Record<string, string> = {
  done: 'how an answer over /mcp ended, which is no error',
  bad_forward: 'only a server of a cluster sends what is refused',
  home_elsewhere: 'only another server of a cluster gets it',
  disk_full: 'the page has a text for it in every language',
  unqueued: 'only an answer that is not streamed has it, and the page streams',
  work_failed: 'only an answer that is not streamed has it, and the page streams',
  bad_data: 'only /ws has it, which the page does not use',
  bad_frame: 'only /ws has it, which the page does not use',
  not_websocket: 'only /ws has it, which the page does not use',
  too_many_sockets: 'only /ws has it, which the page does not use',
  unknown_type: 'only /ws has it, which the page does not use',
  read_only_token: 'only an access token has it, and the page has signed in',
  ask_token: 'only a token for /v1 has it, and the page has signed in',
  embedding_failed: 'only /v1 has it, which the page does not use',
  invalid_value: 'only /v1 has it, which the page does not use',
  no_embedder: 'only /v1 has it, which the page does not use',
  not_alone: 'only /v1 has it, which the page does not use',
  results_missing: 'only /v1 has it, which the page does not use',
  unsupported_parameter: 'only /v1 has it, which the page does not use',
  starting: 'only /ready has it, which the page does not use',
  no_cluster: 'the page asks only a server that says it is in one',
  metrics_off: 'only /metrics has it, which the page does not use',
  bad_by: 'the page has no such parameter',
  bad_query: 'the page has no such parameter',
  bad_day: 'the page has no such parameter',
  bad_period: 'the page names periods from its table',
  bad_folder: 'the page names folders from its table',
  bad_host: 'the page comes from the host that it calls',
  bad_json: 'the page sends what the schema says',
  bad_limit: 'the page keeps to the limit',
  bad_offset: 'the page sends the offset of the browser',
  bad_origin: 'the page calls its own origin',
  bad_precondition: 'the page sends one header or the other',
  bad_request: 'the page sends what the schema says',
  bad_root: 'the page names roots from its table',
  unknown_setting: 'the page names settings from the answer of the server',
  bad_weight: 'the page has no such parameter',
  cross_site: 'the page calls its own origin',
  no_such_endpoint: 'the page calls what the schema has',
  no_text: 'the page offers to pin only what has text',
  not_in_profile: 'of programs: the page changes a password where it asks for the current one',
  not_form: 'the client sends a form',
  not_json: 'the client sends JSON',
  too_many: 'the page does not count the tokens of several files',
  wrong_method: 'the page calls what the schema has',
}

describe('an error of the API', () => {
  const about = { message: 'As told.', model: 'm', provider: 'p' }
  const untranslated = (codes: Iterable<string>) =>
    [...codes].filter(code => failureIn(zh, code, about) === null)
  const { codes, unwritten } = errorCodes(['api', 'engine'].map(rustSource).join('\n'))

  it('has a translation for every code of the server, or an excuse', () => {
    expect(codes.size).toBeGreaterThan(60)
    expect(untranslated(codes).sort()).toEqual(Object.keys(EXCUSED).sort())
  })

  it('has no code that the search above cannot see', () => {
    // The names in the functions and tables whose codes are found by other patterns.
    expect(unwritten).toEqual(new Set(['code', 'error.code()']))
  })

  it('is found wherever a code is written', () => {
    const rust = `
      Err(ApiError::new(
          axum::http::StatusCode::CONFLICT,
          "one",
          message,
      ))
      ApiError::bad_request("two", format!("{n}")); refused("three", "no");
      Case::A => (StatusCode::NOT_FOUND, "four"), _ => ("five", text),
      Ok(Err(reason)) => failed(reason, "six"),
    pub fn code(&self) -> &'static str {
        match self { A => "seven", B(_) => "eight" }
    }
      let kind = match x { A => "none" };
      Self::new(StatusCode::CONFLICT, CODE, message); ApiError::bad_request(kind(), message)`
    const found = errorCodes(rust)
    const all = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']
    expect([...found.codes].sort()).toEqual(all.sort())
    expect([...found.unwritten].sort()).toEqual(['CODE', 'kind()'])
    expect(untranslated(found.codes)).toHaveLength(8)
  })

  it('keeps the server’s words after translated ones where only they have the details', () => {
    expect(failureIn(zh, 'too_long', { message: 'a title has at most 200 characters' })).toBe(
      '内容过长：a title has at most 200 characters',
    )
    expect(failureIn(zh, 'too_long', {})).toBeNull()
    expect(failureIn(zh, 'refused', { message: 'No.' })).toBe('操作被拒绝：No.')
    expect(failureIn(zh, 'refused', { message: 'No.', provider: 'p', status: '400' })).toMatch(/^p /)
    expect(failureIn(() => null, 'too_long', about)).toBeNull()
  })
})

it('the files that a refusal names are named as people know them', async () => {
  const files = 'project/scratch/a.txt\nmemory/a.md'
  const message = 'project/scratch/a.txt and memory/a.md have changed since.'
  const body = { code: 'files_changed', message, about: { files } }
  expect(reasonOf(new ApiError(409, body))).toBe('scratch/a.txt and memory/a.md have changed since.')
  await setLang('zh')
  expect(reasonOf(new ApiError(409, body))).toContain('：scratch/a.txt\nmemory/a.md。')
  await setLang('en')
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
    expect(becauseIn(zh, { code: 'unrehearsed', obstacle: 'background' })).toContain('后台命令')
    expect(becauseIn(zh, { code: 'unrehearsed', obstacle: 'moon' })).toBeNull()
    expect(becauseIn(zh, null)).toBeNull()
  })

  it('has a translation for every reason of the server', () => {
    const policy = rustSource('tools/policy.rs')
    const codes = [...policy.matchAll(/\basks\(\s*"(\w+)"/g)].map(([, code]) => code)
    expect(new Set(codes)).toEqual(
      new Set(['definition', 'persona', 'secrets', 'network', 'reads', 'outside', 'unfenced', 'configured']),
    )
    for (const code of ['rehearsed', 'unrehearsed']) {
      expect(policy).toContain(`code: "${code}"`)
      codes.push(code)
    }
    for (const code of codes) if (code !== 'outside') expect(server).toHaveProperty([`because.${code}`])
    const tools = ['mod.rs', 'project/bash.rs'].map(file => rustSource(`tools/${file}`)).join('')
    const obstacles = [...tools.matchAll(/Unrehearsable::new\(\s*"(\w+)"/g)].map(([, code]) => code)
    expect(new Set(obstacles)).toEqual(new Set(['tool', 'network', 'background', 'secrets']))
    for (const code of [...obstacles, 'off', 'strict', 'system']) {
      expect(tools).toContain(`"${code}"`)
      expect(server).toHaveProperty([`obstacle.${code}`])
    }
    const from = inQuotes(bodyOf(policy, 'fn because(taint'))
    expect(new Set(from)).toEqual(
      new Set(['page', 'document', 'attachment', 'command', 'skill', 'output', 'imported', 'outside']),
    )
    for (const word of from) expect(server).toHaveProperty([`from.${word}`])
  })
})
