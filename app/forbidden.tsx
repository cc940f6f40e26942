import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { currentPerson } from './page-access.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('common.forbidden'))('name'),
})

export default async function Forbidden() {
  const [t, roles, person] = await Promise.all([
    getTranslations('common.forbidden'),
    getTranslations('account.roles'),
    currentPerson(),
  ])
  return (
    <Page
      width="narrow"
      title={t('title')}
      lead={<p>{t('text', { role: roles(`${person?.role ?? 'person'}.name`) })}</p>}
    >
      <p>
        <ButtonLink href="/overview" tone="plain">
          {t('back')}
        </ButtonLink>
      </p>
    </Page>
  )
}
