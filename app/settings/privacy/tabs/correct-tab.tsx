import { getTranslations } from 'next-intl/server'
import { identityOf } from '#app/settings/privacy/identity.ts'
import { CorrectForm } from '#components/privacy/correct-form.tsx'
import { StatementForm } from '#components/privacy/statement-form.tsx'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import type { PrivacyTabProps } from './tab.ts'

/** Corrects the account data, or requests a correction of other data. */
export async function CorrectTab({ agent, person }: PrivacyTabProps) {
  const t = await getTranslations('myPrivacy.correct')
  const identity = identityOf(person)
  return (
    <div className="grid max-w-[48rem] gap-6">
      {!agent && (
        <Section id="account" title={t('title')}>
          <CorrectForm
            account={{ name: person.name, email: person.email, locale: person.locale }}
            identity={identity}
          />
        </Section>
      )}
      <Section id="other" title={t('words')}>
        <p>
          {t.rich('units', {
            link: (text) => (
              <TextLink href={agent ? `/knowledge?agent=${encodeURIComponent(agent.id)}` : '/knowledge'}>
                {text}
              </TextLink>
            ),
          })}
        </p>
        <StatementForm key={`correct ${agent?.id ?? ''}`} about="correct" agentId={agent?.id} identity={identity} />
      </Section>
    </div>
  )
}
