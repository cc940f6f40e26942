import { getLocale, getTranslations } from 'next-intl/server'
import { callUseCase } from '#app/page-access.ts'
import { CloseButton, ReopenButton } from '#components/projects/closing-panel.tsx'
import { exportFile, isMember, mayCloseAsMember, type Project } from '#components/projects/endpoints.ts'
import { KindsForm, NamesForm } from '#components/projects/kinds-form.tsx'
import { RegionForm } from '#components/projects/region-form.tsx'
import { RenameForm } from '#components/projects/rename-form.tsx'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Section } from '#components/ui/page.tsx'
import { regionTitle } from '#components/ui/region-words.ts'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { closingWindow } from '#lib/domains/projects/closing/rules.ts'

/** The facts of the project; owners also change its name and region. */
async function About({ project }: { project: Project }) {
  const isOwner = project.role === 'owner'
  const [t, one, regions, roles, locale] = await Promise.all([
    getTranslations('projects.settings'),
    getTranslations('projects.one'),
    getTranslations('common.regions'),
    getTranslations('projects.roles'),
    getLocale(),
  ])
  const region = () => {
    const country = (code: string) => regions('country', { country: code })
    return regionTitle({ anywhere: regions('anywhere'), eu: regions('eu'), country }, locale, project.region)
  }
  return (
    <Section id="about" title={t('about')}>
      {isOwner && (
        <>
          <RenameForm key={project.name} project={project} />
          <RegionForm project={project} regions={app.regions.choosable} />
        </>
      )}
      <FactList
        facts={[
          [one('facts.id'), <CopyableId key="id" id={project.id} what={one('facts.id')} />],
          [one('facts.group'), <CopyableId key="group" id={project.group_id} what={one('facts.group')} />],
          ...(isOwner ? [] : ([[one('facts.region'), region()]] as const)),
          [one('facts.role'), isMember(project) ? roles(project.role) : one('facts.visitor')],
          [one('facts.created'), <Time key="created" at={project.created_at} />],
          [one('facts.updated'), <Time key="updated" at={project.updated_at} />],
        ]}
      />
    </Section>
  )
}

/** The prefixes that ids of the organization's stores must begin with. */
async function Namespace() {
  const [t, { data }] = await Promise.all([
    getTranslations('projects.settings.namespace'),
    callUseCase(app.accounts.namespace),
  ])
  return (
    <Section id="namespace" title={t('title')} lead={t('lead')}>
      {data.is_any ? (
        <p>{t('any')}</p>
      ) : (
        <ul aria-label={t('title')} className="grid gap-1">
          {[data.prefix, ...data.namespaces].map((prefix) => (
            <li key={prefix}>
              <CopyableId id={prefix} what={t('prefix')} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

/** Closes or reopens the project, or says who can. */
async function Closing({ project }: { project: Project }) {
  const t = await getTranslations('projects.settings')
  const isClosing = project.status === 'closing'
  return (
    <Section
      id="close"
      title={t(isClosing ? 'reopen.title' : 'close.title')}
      lead={isClosing ? t('reopen.lead') : undefined}
    >
      {!mayCloseAsMember(project) ? (
        <p className="text-quiet">{t('close.who')}</p>
      ) : isClosing ? (
        <ReopenButton project={project} />
      ) : (
        <CloseButton project={project} days={Math.round(closingWindow / 86_400_000)} />
      )}
    </Section>
  )
}

/** Project settings. Owners can change and close the project; managers and admins can only close it, without access to its content. */
export async function Settings({ project }: { project: Project }) {
  const t = await getTranslations('projects.settings')
  const isOwner = project.role === 'owner'
  return (
    <>
      <About project={project} />
      {isOwner && <Namespace />}
      {isMember(project) && (
        <>
          <Section id="kinds" title={t('kinds.title')} lead={t('kinds.lead')}>
            <KindsForm key={JSON.stringify(project.entity_kinds)} project={project} isOwner={isOwner} />
          </Section>
          {isOwner && (
            <Section id="names" title={t('names.title')} lead={t('names.lead')}>
              <NamesForm key={String(project.allows_redaction)} project={project} />
            </Section>
          )}
          <Section id="export" title={t('export.title')} lead={t('export.lead')}>
            <p>
              <PlainButtonLink tone="plain" href={exportFile(project.id)} download>
                {t('export.do')}
              </PlainButtonLink>
            </p>
          </Section>
        </>
      )}
      <Closing project={project} />
    </>
  )
}
