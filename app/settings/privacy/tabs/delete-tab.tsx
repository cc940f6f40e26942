import { getTranslations } from 'next-intl/server'
import { callForOwnAgent } from '#app/settings/privacy/own-agents.ts'
import { ButtonLink } from '#components/ui/button.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import { agentQuery, type PrivacyTabProps } from './tab.ts'

/** Leads to the deletion steps, with the number of records, and to earlier receipts. */
export async function DeleteTab({ agent }: PrivacyTabProps) {
  const [t, { total }] = await Promise.all([
    getTranslations('myPrivacy'),
    callForOwnAgent(app.exports.readInventory, { query: agentQuery(agent?.id) }),
  ])
  return (
    <div className="grid max-w-[48rem] justify-items-start gap-4">
      <p>{t('erase.lead', { count: total })}</p>
      <ButtonLink
        href={`/settings/privacy/delete${agent ? `?agent=${encodeURIComponent(agent.id)}` : ''}`}
        tone="danger"
      >
        {t('erase.button')}
      </ButtonLink>
      <TextLink href="/settings/privacy/receipts">{t('requests.receipts')}</TextLink>
    </div>
  )
}
