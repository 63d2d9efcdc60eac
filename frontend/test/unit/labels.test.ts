import { afterEach, expect, it } from 'vitest'
import { keys, queryClient } from '@/api/queries'
import type { SessionList } from '@/api/types'
import { setLabels } from '@/app/threads'
import { allLabels } from '@/features/sessions/labels'
import { serve } from '../fetch'

afterEach(() => queryClient.clear())

const known = () => queryClient.getQueryData<SessionList>(keys.sessions)?.labels

it('labels show at once, and quick changes reach the server in their order', async () => {
  const list: SessionList = { sessions: [], pinned: [], archived: [], put_away: [], labels: { b: ['old'] } }
  queryClient.setQueryData(keys.sessions, list)
  const sent: unknown[] = []
  serve(({ body }) => {
    sent.push(body)
    return [200, body]
  })
  const changes = [setLabels('a', ['x']), setLabels('a', ['x', 'y'])]
  expect(known()).toEqual({ a: ['x', 'y'], b: ['old'] })
  expect(await Promise.all(changes)).toEqual([null, null])
  expect(sent).toEqual([{ labels: ['x'] }, { labels: ['x', 'y'] }])
})

it('a refused change says why, and the next one is still sent', async () => {
  serve(({ body }) =>
    JSON.stringify(body).includes('bad')
      ? [400, { code: 'bad_label', message: 'A label has 1 to 40.' }]
      : [200, body],
  )
  const [first, second] = await Promise.all([setLabels('a', ['bad']), setLabels('a', ['good'])])
  expect(first).toContain('1 to 40')
  expect(second).toBeNull()
})

it('every label is listed once, in order', () => {
  expect(allLabels({ a: ['work 10', 'home'], b: ['work 9', 'home'] })).toEqual(['home', 'work 9', 'work 10'])
})
