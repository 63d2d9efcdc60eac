import { QueryObserver } from '@tanstack/react-query'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient, refresh } from '@/api/queries'

afterEach(() => queryClient.clear())

/** A list that is asked for, each answer given by hand. */
function asked() {
  const answers: ((list: string[]) => void)[] = []
  const queryFn = () => new Promise<string[]>(resolve => answers.push(resolve))
  const observer = new QueryObserver(queryClient, { queryKey: ['list'], queryFn })
  const end = observer.subscribe(() => undefined)
  return { answers, list: () => observer.getCurrentResult().data, end }
}

it('asks again after a first answer that was on its way when things changed', async () => {
  const { answers, list, end } = asked()
  refresh(['list'])
  expect(answers).toHaveLength(1)
  answers[0]?.(['before'])
  await vi.waitFor(() => expect(answers).toHaveLength(2))
  answers[1]?.(['before', 'after'])
  await vi.waitFor(() => expect(list()).toEqual(['before', 'after']))
  end()
})

it('asks once where nothing was on its way', async () => {
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
