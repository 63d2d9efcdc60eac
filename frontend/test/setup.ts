import { cleanup } from '@testing-library/react'
import { afterEach } from 'vitest'
import { loadLocale } from '@/lib/i18n'
import '@/lib/later'

afterEach(cleanup)
await loadLocale('zh')

// happy-dom has no observer of visibility; nothing here is ever scrolled into view.
class NothingInView {
  observe() {}
  unobserve() {}
  disconnect() {}
  takeRecords() {
    return []
  }
}
Object.assign(globalThis, { IntersectionObserver: NothingInView })
