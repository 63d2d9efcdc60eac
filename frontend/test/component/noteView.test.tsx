import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { queryClient } from '@/api/queries'
import { NoteView } from '@/features/notes/NoteView'
import { projectRoot } from '@/lib/roots'
import { serve } from '../fetch'

it('a relative link of a note never leaves the project', async () => {
  const notes = [{ path: 'Tea.md' }, { path: 'Water.md' }]
  serve(() => [200, { code: 0, data: { notes, files: [], tags: [] } }])
  render(
    <QueryClientProvider client={queryClient}>
      <NoteView
        root={projectRoot('p1')}
        path="Tea.md"
        text="[mine](memory/MEMORY.md) [water](Water.md) [web](https://example.org/a.md)"
      />
    </QueryClientProvider>,
  )
  const water = await screen.findByRole('link', { name: 'water' })
  expect(water.getAttribute('href')).toContain('/p/p1/')
  expect(screen.queryByRole('link', { name: 'mine' })).toBeNull()
  expect(screen.queryByRole('button', { name: 'mine' })).toBeNull()
  expect(screen.getByText(/mine/).closest('.nonote')).not.toBeNull()
  expect(screen.getByRole('link', { name: 'web' })).toBeTruthy()
})
