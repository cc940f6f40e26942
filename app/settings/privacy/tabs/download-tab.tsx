import { callUseCase } from '#app/page-access.ts'
import { AgentExport } from '#components/privacy/agent-export.tsx'
import { ExportDesk } from '#components/privacy/export-desk.tsx'
import { app } from '#lib/app-instance.ts'
import type { PrivacyTabProps } from './tab.ts'

/** Prepared exports of the person, or direct downloads for one agent. */
export async function DownloadTab({ agent }: PrivacyTabProps) {
  if (agent) return <AgentExport agent={agent} />
  return <ExportDesk initial={await callUseCase(app.exports.listExports)} />
}
