import { getTranslations } from 'next-intl/server'
import { callUseCase } from '#app/page-access.ts'
import { erasurePage } from '#components/projects/endpoints.ts'
import type { Missing } from '#components/projects/missing-rules.ts'
import { Alert } from '#components/ui/alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** Whether the user may see the erasure's progress: its requester, the project's owners, admins and auditors may. */
async function maySee(id: string): Promise<boolean> {
  try {
    await callUseCase(app.requests.readErasure, { params: { id } })
    return true
  } catch (error) {
    if (Problem.is(error)) return false
    throw error
  }
}

/** Link to the receipt or the running erasure; null when there is none or the user may not see it. */
async function evidenceOf(projectId: string, missing: Missing): Promise<string | null> {
  if (missing.is === 'erased') return `/receipts/${missing.receiptId}`
  if (missing.is === 'absent') return null
  return (await maySee(missing.auditId)) ? erasurePage(projectId, missing.auditId) : null
}

/** Explains why the message in the URL cannot be read, with a link to the evidence. */
export async function MissingMessage({ projectId, missing }: { projectId: string; missing: Missing }) {
  const [t, evidence] = await Promise.all([
    getTranslations('projects.conversation.missing'),
    evidenceOf(projectId, missing),
  ])
  return (
    <Alert tone="info" title={t(`${missing.is}.title`)}>
      <p>{t(`${missing.is}.text`)}</p>
      {evidence !== null && missing.is !== 'absent' && (
        <p>
          <TextLink href={evidence} prefetch={false}>
            {t(`${missing.is}.open`)}
          </TextLink>
        </p>
      )}
    </Alert>
  )
}
