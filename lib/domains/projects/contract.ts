import { z } from 'zod'
import { DataRegion } from '#lib/kernel/data-regions.ts'
import { SentEmailAddress } from '#lib/kernel/email-address.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import {
  max,
  memberKinds,
  projectIdForm,
  projectMemberRoles,
  projectStatuses,
  SingleLine,
  seenRoles,
  writerKinds,
} from './rules.ts'

export const when = time()
const whenever = when.nullable()
export const countField = z.number().int()
/** An id in a request. An id of an impossible form gets the same 404 as an unknown one. */
export const Id = z
  .string()
  .min(1)
  .max(200)
  .refine((id) => !id.includes('\0') && id.isWellFormed(), 'is not an id')
/** The agent that wrote on behalf of a participant. */
export const WrittenBy = z
  .string()
  .nullable()
  .meta({ description: 'The agent that wrote on behalf of the author; null if the author wrote directly' })
/** An id that the client chooses for a new record. */
export const OwnId = z.string().regex(projectIdForm, 'must have at most 200 letters, digits, _ . : and -')

/** The author or actor of a record, with the current name; null if the name no longer exists. */
export const Writer = z
  .strictObject({ kind: z.enum(writerKinds), id: z.string(), name: z.string().nullable() })
  .meta({ id: 'Writer' })
export type Writer = z.output<typeof Writer>

const EntityKinds = z
  .record(z.string().min(1).max(100), z.enum(['person', 'business']))
  .refine((kinds) => Object.keys(kinds).length <= max.entityKinds, `must have at most ${max.entityKinds} labels`)

export const ProjectView = z
  .strictObject({
    id: z.string(),
    name: z.string().meta({ description: 'Empty after the project is closed' }),
    status: z.enum(projectStatuses),
    role: z.enum(seenRoles).meta({
      description:
        'Your access. owner, member: of the project, directly or through an agent of yours. manager, admin: by your role, which can close and reopen projects but cannot see their content',
    }),
    group_id: z.string().meta({ description: 'The group of the project’s data in a connected graph' }),
    region: z.string().nullable(),
    entity_kinds: EntityKinds,
    allows_redaction: z.boolean().meta({
      description:
        'Owners allow erasures of members and participants to remove their names from texts of others in the project’s graph',
    }),
    members: countField,
    conversations: countField,
    documents: countField,
    participants: countField,
    created_at: when,
    updated_at: when,
    closing_at: whenever,
    closes_at: whenever.meta({ description: 'When its data is deleted' }),
    is_held: z.boolean().meta({ description: 'A legal hold covers it: nothing of it is erased until the hold ends' }),
    is_erasing: z.boolean().meta({ description: 'Its data is being erased and can no longer be read' }),
    closed_at: whenever,
    receipt_id: z.string().nullable().meta({ description: 'For a closed project: its receipt' }),
  })
  .meta({ id: 'Project' })
/** The view that use cases return: its times are Dates. */
export type ProjectView = z.input<typeof ProjectView>

export const ProjectMember = z
  .strictObject({
    kind: z.enum(memberKinds),
    member_id: z.string(),
    name: z.string().nullable(),
    role: z.enum(projectMemberRoles),
    added_at: when,
  })
  .meta({ id: 'ProjectMember' })
export type ProjectMember = z.output<typeof ProjectMember>

export const project = { resourceType: 'project' } as const
const params = z.strictObject({ projectId: Id })
const reading = {
  method: 'get',
  permission: 'projects:read',
  audit: project,
} as const
const writing = { permission: 'projects:write' } as const

export const listProjects = operation({
  ...reading,
  id: 'listProjects',
  path: '/api/projects',
  summary: 'List projects, newest first',
  description:
    'Projects in which you are a member, directly or through an agent of yours. With `all=true`, managers get all projects of their organization and admins all projects: that they exist, but none of their content.',
  query: z.strictObject({
    status: z.enum(projectStatuses).optional(),
    all: z
      .enum(['true', 'false'])
      .default('false')
      .transform((text) => text === 'true'),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(ProjectView),
})

export const createProject = operation({
  ...writing,
  id: 'createProject',
  method: 'post',
  path: '/api/projects',
  summary: 'Create a project',
  description:
    'You become its owner. `group_id` is the group of its data in a connected graph. The default is the project’s id, and no two projects share one. Any other value must begin with your organization’s prefix (GET /api/stores/namespace).',
  audit: project,
  body: z.strictObject({
    name: SingleLine,
    region: DataRegion.nullable().optional().meta({
      description:
        'Its data may be stored only there. The project is rejected if a store is elsewhere. If omitted, wherever the installation stores data',
    }),
    group_id: OwnId.optional(),
    entity_kinds: EntityKinds.optional().meta({
      description: 'Entity labels of its graph, each classified as person or business. Unknown labels count as person',
    }),
  }),
  output: z.strictObject({ data: ProjectView }),
  secrets: ['name'],
  refusals: ['conflict', 'outside_region'],
})

export const readProject = operation({
  ...reading,
  id: 'readProject',
  path: '/api/projects/{projectId}',
  summary: 'A project',
  params,
  output: z.strictObject({ data: ProjectView }),
  refusals: ['not_found'],
})

export const editProject = operation({
  ...writing,
  id: 'editProject',
  method: 'patch',
  path: '/api/projects/{projectId}',
  summary: 'Change a project’s name, region, or the classification of its entity labels',
  description: 'For its owners.',
  audit: project,
  params,
  body: z
    .strictObject({
      name: SingleLine.optional(),
      region: createProject.body.shape.region,
      entity_kinds: EntityKinds.optional(),
      allows_redaction: z.boolean().optional(),
    })
    .refine((body) => Object.values(body).some((value) => value !== undefined), 'must contain at least one change'),
  output: z.strictObject({ data: ProjectView }),
  refusals: ['not_found', 'forbidden', 'fenced', 'conflict'],
})

const member = { resourceType: 'project_member' } as const

export const listProjectMembers = operation({
  ...reading,
  id: 'listProjectMembers',
  path: '/api/projects/{projectId}/members',
  summary: 'List the members of a project, newest first',
  audit: member,
  params,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(ProjectMember),
  refusals: ['not_found'],
})

export const addProjectMember = operation({
  ...writing,
  id: 'addProjectMember',
  method: 'post',
  path: '/api/projects/{projectId}/members',
  summary: 'Add a member to a project, or change their role',
  description:
    'For owners. Accepts people and agents of the project’s organization; people also by email address. An existing member gets the given role. The last owner cannot change their role.',
  audit: member,
  params,
  body: z
    .strictObject({
      kind: z.enum(memberKinds),
      member_id: Id.optional(),
      email: SentEmailAddress.optional(),
      role: z.enum(projectMemberRoles).default('member'),
    })
    .refine(
      ({ member_id, email }) => (member_id === undefined) !== (email === undefined),
      'must contain either member_id or email',
    )
    .refine(
      ({ kind, email }) => kind === 'account' || email === undefined,
      'can contain email only for the kind account',
    ),
  output: z.strictObject({ data: ProjectMember }),
  secrets: ['name'],
  refusals: ['not_found', 'forbidden', 'fenced', 'wrong_state', 'conflict'],
})

export const removeProjectMember = operation({
  ...writing,
  id: 'removeProjectMember',
  method: 'delete',
  path: '/api/projects/{projectId}/members/{kind}/{memberId}',
  summary: 'Remove a member from a project',
  description:
    'For owners, and for members who leave. Their contributions remain, and they can still erase them. The last owner cannot be removed.',
  audit: member,
  deletes: { none: 'a membership holds no content' },
  params: z.strictObject({ projectId: Id, kind: z.enum(memberKinds), memberId: Id }),
  output: z.undefined(),
  refusals: ['not_found', 'forbidden', 'conflict'],
})
