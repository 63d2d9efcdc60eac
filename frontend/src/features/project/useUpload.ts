import { useEffect, useRef, useState } from 'react'
import type { Project } from '@/api/types'
import { type ChosenFolder, type Progress, progressOf } from './folder'
import { upload } from './manage'

/** Uploads a folder as a project. Leaving the form cancels the upload. `onBusy` is called when it begins and ends. */
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
    const toProgress = progressOf(folder)
    setProgress(toProgress(0))
    onBusy(true)
    // The browser tells of progress more often than a screen can show it.
    let shown = 0
    const onProgress = (sent: number, total: number) => {
      const now = performance.now()
      if (sent < total && now - shown < 100) return
      shown = now
      setProgress(toProgress(total > 0 ? sent / total : 0))
    }
    try {
      return await upload({ ...values, files: folder.files, onProgress, signal: controller.signal })
    } finally {
      running.current = null
      setProgress(null)
      onBusy(false)
    }
  }
  return { progress, run, cancel: progress && !progress.sentAll ? () => running.current?.abort() : null }
}
