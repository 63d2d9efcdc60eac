import { act, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openBuffer } from '@/features/editor/buffer'
import Tour from '@/features/tour/Tour'
import { t } from '@/lib/i18n'
import { SOUL } from '@/lib/roots'
import { bufferOf, putFile, useBuffers } from '@/stores/buffers'
import { startTour, useTour } from '@/stores/tour'
import { Page } from '../commands'

beforeEach(() => {
  localStorage.clear()
  useTour.setState({ step: null, seen: false })
  useBuffers.setState({ files: {}, comparing: null })
})
afterEach(() => useTour.setState({ step: null }))

function begin() {
  startTour()
  render(
    <Page>
      <Tour />
    </Page>,
  )
}
const press = async (name: string) => {
  await act(async () => fireEvent.click(screen.getByRole('button', { name })))
}

it('has three steps, each with the focus on its card, and is remembered when it is done', async () => {
  begin()
  for (const title of ['tourSoul', 'tourAsk'] as const) {
    expect(screen.getByRole('heading').textContent).toBe(t(title))
    expect(document.activeElement).toBe(screen.getByRole('region', { name: t('tourName') }))
    await press(t('tourNext'))
  }
  screen.getByText(t('tourXrayNone'))
  await press(t('tourDone'))
  expect(useTour.getState()).toEqual({ step: null, seen: true })
  expect(localStorage.getItem('mc:owner:tour')).toBe('seen')
})

it('writes the line into the editor once, without saving, after the edits of the person', async () => {
  putFile(SOUL, { phase: 'open', buffer: openBuffer(SOUL, 'Be kind.\n', '"1"', null) })
  begin()
  await press(t('tourSoulAdd'))
  const buffer = bufferOf(SOUL)
  expect(buffer?.text).toBe(`Be kind.\n\n${t('tourSoulLine')}\n`)
  expect(buffer?.state).toEqual({ kind: 'dirty' })
  // An open editor shows the text only with a new revision.
  expect(buffer?.revision).toBe(1)
  expect(screen.queryByRole('button', { name: t('tourSoulAdd') })).toBeNull()
  screen.getByRole('button', { name: t('tourSoulSave') })
})

it('is left by Escape', () => {
  begin()
  fireEvent.keyDown(screen.getByRole('region', { name: t('tourName') }), { key: 'Escape' })
  expect(useTour.getState()).toEqual({ step: null, seen: true })
})
