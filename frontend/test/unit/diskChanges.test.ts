import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { keys, listsOf, queryClient } from '@/api/queries'
import { onFileChanged, onFolderChanged } from '@/app/diskChanges'
import { file } from '../file'

let asked: string[]
beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  vi.spyOn(queryClient, 'invalidateQueries').mockImplementation(async filters => {
    asked.push(JSON.stringify(filters?.queryKey))
  })
})
afterEach(() => vi.useRealTimers())
const said = (...wanted: (readonly unknown[])[]) => wanted.map(key => JSON.stringify(key))

it('changes that arrive together cause one refresh', () => {
  onFileChanged('workspace/a.md')
  onFileChanged('knowledge/b.md')
  onFileChanged('knowledge/tests.jsonl')
  onFileChanged('workspace/a.md')
  expect(asked).toEqual([])
  vi.runAllTimers()
  expect(new Set(asked).size).toBe(asked.length)
  expect(new Set(asked)).toEqual(
    new Set(
      said(
        keys.folder('workspace'),
        keys.root('workspace'),
        keys.foundFiles('workspace'),
        keys.folder('knowledge'),
        keys.root('knowledge'),
        keys.foundFiles('knowledge'),
        keys.foundFiles(null),
        keys.text('workspace/a.md'),
        keys.text('knowledge/b.md'),
        keys.text('knowledge/tests.jsonl'),
        keys.index,
        keys.searches('knowledge'),
        [...keys.chunks, 'knowledge/b.md'],
        keys.tests('knowledge'),
      ),
    ),
  )
  asked.length = 0
  onFileChanged('skills/tea/SKILL.md')
  vi.runAllTimers()
  const tea = 'skills/tea/SKILL.md'
  expect(asked).toEqual(said(...listsOf(file(tea)), keys.text(tea), keys.skills))
  expect(asked).toEqual(expect.arrayContaining(said(keys.folder('skills'), keys.folder('skills/tea'))))
})

it('a checkout costs as much as one file', () => {
  for (let n = 0; n < 5_000; n++) onFileChanged(`workspace/project/${n}.md`)
  vi.runAllTimers()
  const all = said(keys.files, keys.texts, keys.skills, keys.retrieval)
  expect(asked).toEqual(all)
  asked.length = 0
  onFolderChanged()
  expect(asked).toEqual(all)
})
