import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { Button } from '@/components/ui/Button'
import { ThinkingPicker } from '@/features/model/ThinkingPicker'
import { SearchBox } from '@/features/sessions/SearchBox'

it('a pressed toggle has the tint of a switch that is on', () => {
  render(
    <Button look="ghost" aria-pressed>
      Raw
    </Button>,
  )
  const classes = screen.getByRole('button', { pressed: true }).className
  expect(classes).toContain('aria-pressed:bg-accent-soft')
  expect(classes).toContain('aria-pressed:text-accent')
})

it('the controls of one row are equally high on a touch screen', () => {
  render(
    <>
      <Button>New chat</Button>
      <SearchBox query="" onComposing={() => {}} onQuery={() => {}} />
      <ThinkingPicker thinking={null} onThinking={() => {}} />
    </>,
  )
  expect(screen.getByRole('button', { name: 'New chat' }).className).toContain('pointer-coarse:h-11')
  expect(screen.getByRole('textbox').className).toContain('pointer-coarse:h-11')
  // 36 px and twice 4: the send button is at the end of the last row, whatever that row contains.
  expect(screen.getByRole('button', { name: /Thinking/ }).className).toContain('pointer-coarse:my-1')
})
