import { getTranslations } from 'next-intl/server'
import type { Missing } from '#components/projects/missing-rules.ts'
import { erasurePage } from '#components/projects/places.ts'
import { Alert } from '#components/ui/alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { ask } from '../../../../reader.ts'

/** Who asked for an erasure, the project's owners, admins and auditors see how far it is. */
async function maySee(id: string): Promise<boolean> {
  try {
    await ask(app.requests.readErasure, { params: { id } })
    return true
  } catch (error) {
    if (Problem.is(error)) return false
    throw error
  }
}

/** Where the evidence is; null where there is none, or not for this reader. */
async function evidenceOf(projectId: string, missing: Missing): Promise<string | null> {
  if (missing.is === 'erased') return `/receipts/${missing.receiptId}`
  if (missing.is === 'absent') return null
  return (await maySee(missing.auditId)) ? erasurePage(projectId, missing.auditId) : null
}

/** What is known of a message that an address names and nobody can read. */
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
