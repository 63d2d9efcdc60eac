import { useEffect, useRef, useState } from 'react'
import type { Project } from '@/api/types'
import type { ChosenFolder, Progress } from './folder'
import { upload } from './manage'
import { DISCARD } from './resume'

/**
 * Uploads a folder as a project. Leaving the form interrupts the upload, and what has arrived stays for a day. `onBusy` is
 * called when it begins and ends.
 */
export function useUpload(onBusy: (busy: boolean) => void) {
  const [progress, setProgress] = useState<Progress | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = async (
    values: { name: string; description: string },
    folder: ChosenFolder,
  ): Promise<Project> => {
    const controller = new AbortController()
    running.current = controller
    onBusy(true)
    // The browser tells of progress more often than a screen can show it.
    let shown = Number.NEGATIVE_INFINITY
    const onProgress = (next: Progress) => {
      const now = performance.now()
      if (!next.sentAll && !next.waiting && now - shown < 100) return
      shown = now
      setProgress(next)
    }
    try {
      return await upload({ ...values, folder, onProgress, signal: controller.signal })
    } finally {
      running.current = null
      setProgress(null)
      onBusy(false)
    }
  }
  const cancel = () => {
    running.current?.abort(DISCARD)
  }
  return { progress, run, cancel: progress && !progress.sentAll ? cancel : null }
}
