import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { DiffView } from '@/components/DiffView'

it('every line without text is drawn as a line', () => {
  render(<DiffView label="tea.md" diff={'@@ -1,3 +1,4 @@\n Green\n \n+\n-Black\n+Oolong\n'} />)
  const rows = [...screen.getByRole('group', { name: 'tea.md' }).children]
  expect(rows.map(row => row.querySelector('br') !== null)).toEqual([false, false, true, true, false, false])
})
