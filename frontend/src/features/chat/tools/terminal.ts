import { defaultTool } from './defaultTool'
import type { ToolRenderer } from './renderer'

/** The renderer for the tool that runs a command. */
export const terminal: ToolRenderer = { ...defaultTool, approvalTitle: (_, t) => t('approvalRun') }
