import type { Metadata } from 'next'
import { headers } from 'next/headers'
import { getFormatter, getTranslations } from 'next-intl/server'
import { pageAt } from '#components/frame/pages.ts'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { roles } from '#lib/domains/accounts/rules.ts'
import { currentPerson } from './page-access.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('common.forbidden'))('name'),
})

/** Says which roles may open the page. */
export default async function Forbidden() {
  const [t, names, format, person, sent] = await Promise.all([
    getTranslations('common.forbidden'),
    getTranslations('roles.names'),
    getFormatter(),
    currentPerson(),
    headers(),
  ])
  const page = pageAt(sent.get('x-path') ?? '')
  const allowed = roles.filter((role) => page?.roles?.includes(role)).map((role) => names(role))
  return (
    <Page
      width="narrow"
      title={t('title')}
      lead={
        <p>
          {t('text', {
            role: names(person?.role ?? 'person'),
            allowed: allowed.length > 0 ? format.list(allowed, { type: 'disjunction' }) : names('admin'),
          })}
        </p>
      }
    >
      <p>
        <ButtonLink href="/overview" tone="plain">
          {t('back')}
        </ButtonLink>
      </p>
    </Page>
  )
}
