import { useEffect } from 'react'
import { useLocation, useRoute, useSearchParams } from 'wouter'
import { isHomePath } from '@/lib/citation'
import { FileRef, projectOf, projectRoot } from '@/lib/roots'
import { openPath, showProject, useUi } from '@/stores/ui'

function plain(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    // A name with a bare percent sign arrives already decoded.
    return path
  }
}

/**
 * `/f/{path}?line=3` shows a file at a line, or at `line=3-5`, beside the conversation that was open last; so does
 * `/p/{project}/f/{path}` for a file of a project, and `/p/{project}` shows its files.
 */
export function useFileAddress(): void {
  const [found, params] = useRoute('/f/*')
  const [inProject, project] = useRoute<{ id: string; '*'?: string }>('/p/:id/f/*')
  const [ofProject, alone] = useRoute<{ id: string }>('/p/:id')
  const [search] = useSearchParams()
  const [, navigate] = useLocation()
  const path = found
    ? plain(params['*'] ?? '')
    : inProject
      ? `${FileRef.of(projectRoot(project.id), plain(project['*'] ?? ''))}`
      : null
  const shown = ofProject ? alone.id : null
  const [first, last = first] = (search.get('line') ?? '').split('-').map(Number)
  useEffect(() => {
    if (shown === null) return
    navigate(useUi.getState().lastChat, { replace: true })
    showProject(shown)
  }, [shown, navigate])
  useEffect(() => {
    if (path === null) return
    navigate(useUi.getState().lastChat, { replace: true })
    if (isHomePath(path)) openPath(path, first && last ? [first, Math.max(first, last)] : null)
  }, [path, first, last, navigate])
}

/** The URL that shows a file. */
export function fileAddress(file: FileRef): string {
  const project = projectOf(file.root)
  const [below, path] = project === null ? ['f', `${file}`] : [`p/${project}/f`, file.path]
  return new URL(`${below}/${path.split('/').map(encodeURIComponent).join('/')}`, document.baseURI).href
}
