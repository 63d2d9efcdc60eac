import { defaultTool } from './defaultTool'
import type { ToolRenderer } from './renderer'

/** The renderer for the tool that deletes a file. */
export const deleteFile: ToolRenderer = {
  ...defaultTool,
  approvalTitle: (approval, t) =>
    approval.shown.path
      ? t('approvalDelete', { path: approval.shown.path })
      : defaultTool.approvalTitle(approval, t),
}
