import { vi } from 'vitest'
import { loadLocale } from '@/lib/i18n'
import '@/lib/later'

await loadLocale('zh')

// A slow machine is no fault of what is tested; Vitest waits for a second only.
const { waitFor } = vi
vi.waitFor = (callback, options) =>
  waitFor(callback, typeof options === 'number' ? options : { timeout: 15_000, ...options })

// happy-dom has no IntersectionObserver; nothing is ever scrolled into view here.
class NothingInView {
  observe() {}
  unobserve() {}
  disconnect() {}
  takeRecords() {
    return []
  }
}
Object.assign(globalThis, { IntersectionObserver: NothingInView })

// happy-dom takes Alt for AltGr.
const { getModifierState } = KeyboardEvent.prototype
KeyboardEvent.prototype.getModifierState = function (name) {
  return name !== 'AltGraph' && getModifierState.call(this, name)
}
