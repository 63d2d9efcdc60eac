import { act, renderHook, waitFor } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'
import { putBound } from '@/api/projectQueries'
import { keys, queryClient } from '@/api/queries'
import { usePlaceNames } from '@/features/sessions/usePlaceNames'
import { forgetPlaces } from '@/stores/places'
import { useProject } from '@/stores/project'
import { Page } from '../commands'
import { serve } from '../fetch'

const session = (id: string) => ({
  ...{ id, title: id, created_at: 0, updated_at: 0, message_count: 1, tokens: 0, state: 'idle' as const },
})
const [a, b, c] = [session('a'), session('b'), session('c')]
const PLACES: Record<string, string | null> = { c: 'scratch', b: 'tea', a: null, x: 'gone' }
let asked: string[]

beforeEach(() => {
  vi.unstubAllGlobals()
  queryClient.clear()
  queryClient.setQueryData(keys.projects, [{ id: 'tea', name: 'Tea' }])
  useProject.setState({ id: null })
  forgetPlaces()
  asked = []
  // Pages of two, the most recently used first.
  serve(({ path }) => {
    const cursor = new URL(path, location.href).searchParams.get('cursor') ?? ''
    asked.push(cursor)
    const ids = Object.keys(PLACES)
    const start = ids.indexOf(cursor) + 1
    const items = ids.slice(start, start + 2).map(id => ({ id, project_id: PLACES[id] }))
    const has_more = start + 2 < ids.length
    return [200, { code: 0, data: { items, has_more, next_cursor: has_more ? items.at(-1)?.id : null } }]
  })
})

const shown = (sessions: (typeof a)[]) =>
  renderHook(({ sessions }) => sessions.map(({ id }) => id).map(usePlaceNames(sessions)), {
    wrapper: Page,
    initialProps: { sessions },
  })

it('rows name the project, and only as much is read as is not known', async () => {
  const { result, rerender } = shown([b, c])
  await waitFor(() => expect(result.current).toEqual(['Tea', 'scratch/']))
  expect(asked).toEqual([''])
  rerender({ sessions: [a, b] })
  await waitFor(() => expect(asked).toEqual(['', '', 'b']))
  await waitFor(() => expect(result.current).toEqual([null, 'Tea']))
  act(() => putBound('a', 'tea'))
  expect(result.current).toEqual(['Tea', 'Tea'])
  expect(asked).toHaveLength(3)
})

it('a project that is gone has no name, and what was deleted is not asked for again', async () => {
  const { result, rerender } = shown([session('x'), session('deleted')])
  await waitFor(() => expect(asked).toEqual(['', 'b']))
  rerender({ sessions: [session('x'), session('deleted')] })
  expect(result.current).toEqual([null, null])
  expect(asked).toHaveLength(2)
})

it('nothing is asked without projects, or where all are of the chosen one', async () => {
  useProject.setState({ id: 'tea' })
  expect(shown([b]).result.current).toEqual(['Tea'])
  useProject.setState({ id: null })
  queryClient.setQueryData(keys.projects, [{ id: 'scratch', name: 'scratch' }])
  expect(shown([b]).result.current).toEqual([null])
  await Promise.resolve()
  expect(asked).toEqual([])
})
