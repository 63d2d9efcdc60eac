import { QueryObserver } from '@tanstack/react-query'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient, refresh } from '@/api/queries'

afterEach(() => queryClient.clear())

/** A query whose responses are given by hand. */
function asked() {
  const answers: ((list: string[]) => void)[] = []
  const queryFn = () => new Promise<string[]>(resolve => answers.push(resolve))
  const observer = new QueryObserver(queryClient, { queryKey: ['list'], queryFn })
  const end = observer.subscribe(() => undefined)
  return { answers, list: () => observer.getCurrentResult().data, end }
}

it('a first fetch under way during a change is repeated', async () => {
  const { answers, list, end } = asked()
  refresh(['list'])
  expect(answers).toHaveLength(1)
  answers[0]?.(['before'])
  await vi.waitFor(() => expect(answers).toHaveLength(2))
  answers[1]?.(['before', 'after'])
  await vi.waitFor(() => expect(list()).toEqual(['before', 'after']))
  end()
})

it('without a first fetch under way, one fetch is enough', async () => {
  const { answers, list, end } = asked()
  answers[0]?.(['one'])
  await vi.waitFor(() => expect(list()).toEqual(['one']))
  refresh(['list'])
  await vi.waitFor(() => expect(answers).toHaveLength(2))
  answers[1]?.(['two'])
  await vi.waitFor(() => expect(list()).toEqual(['two']))
  await Promise.resolve()
  expect(answers).toHaveLength(2)
  end()
})
