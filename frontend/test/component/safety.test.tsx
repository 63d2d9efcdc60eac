import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/api/queries'
import { SafetyBanners } from '@/app/SafetyBanners'

vi.mock('@/api/endpoints', async actual => ({
  ...(await actual<typeof import('@/api/endpoints')>()),
  getStatus: vi.fn(() => new Promise(() => {})),
}))
afterEach(() => vi.unstubAllGlobals())

const show = (secure: boolean) => {
  vi.stubGlobal('isSecureContext', secure)
  return render(
    <QueryClientProvider client={queryClient}>
      <SafetyBanners />
    </QueryClientProvider>,
  )
}

it('only a page loaded over plain HTTP from another machine warns', () => {
  const { unmount } = show(true)
  expect(screen.queryByRole('alert')).toBeNull()
  unmount()
  show(false)
  expect(screen.getByRole('alert').textContent).toContain('isn’t encrypted')
})
