import { useEffect } from 'react'
import { useLocation, useRoute, useSearchParams } from 'wouter'
import { isHomePath } from '@/lib/citation'
import type { FileRef } from '@/lib/roots'
import { openPath, useUi } from '@/stores/ui'

function plain(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    // A name with a bare percent sign arrives already decoded.
    return path
  }
}

/** `/f/{path}?line=3` shows a file at a line, or at `line=3-5`, beside the conversation that was open last. */
export function useFileAddress(): void {
  const [found, params] = useRoute('/f/*')
  const [search] = useSearchParams()
  const [, navigate] = useLocation()
  const path = found ? plain(params['*'] ?? '') : null
  const [first, last = first] = (search.get('line') ?? '').split('-').map(Number)
  useEffect(() => {
    if (path === null) return
    navigate(useUi.getState().lastChat, { replace: true })
    if (isHomePath(path)) openPath(path, first && last ? [first, Math.max(first, last)] : null)
  }, [path, first, last, navigate])
}

/** The URL that shows a file. */
export const fileAddress = (file: FileRef): string =>
  new URL(`f/${`${file}`.split('/').map(encodeURIComponent).join('/')}`, document.baseURI).href
