/** The completed lists that a person has hidden in this tab, also after a reload. */
import { create } from 'zustand'

const KEY = 'mc.hiddenTodos'
/** Number of lists that are remembered. */
const KEPT = 50

function kept(): readonly string[] {
  try {
    const ids: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? '[]')
    return Array.isArray(ids) ? ids.filter(id => typeof id === 'string') : []
  } catch {
    return []
  }
}

const useIds = create<{ ids: readonly string[] }>(() => ({ ids: kept() }))

export function hideList(id: string): void {
  const ids = [...useIds.getState().ids, id].slice(-KEPT)
  useIds.setState({ ids })
  try {
    sessionStorage.setItem(KEY, JSON.stringify(ids))
  } catch {
    // storage is blocked: it is hidden until the page is closed
  }
}

export const useIsHidden = (id: string): boolean => useIds(s => s.ids.includes(id))
