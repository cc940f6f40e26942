import { useTranslations } from 'next-intl'
import { PlainButtonLink } from '#components/ui/button.tsx'

/** Downloads all data about one agent. The server streams it and stores no file. */
export function AgentExport({ agent }: { agent: { id: string; name: string } }) {
  const t = useTranslations('exports.agent')
  const at = (scope: 'all' | 'provided') => `/v1/export/${encodeURIComponent(agent.id)}?format=zip&scope=${scope}`
  return (
    <div className="grid gap-4">
      <p>{t('text', { agent: agent.name })}</p>
      <div className="flex flex-wrap gap-2">
        <PlainButtonLink href={at('all')} download tone="plain">
          {t('all')}
        </PlainButtonLink>
        <PlainButtonLink href={at('provided')} download tone="plain">
          {t('provided')}
        </PlainButtonLink>
      </div>
    </div>
  )
}
