import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { readEnv } from '#lib/config/env.ts'
import { files, isInstalled } from '#lib/testing/services/installed.ts'

const chart = join(import.meta.dirname, '../deploy/helm/knowledgepulse')
const required = [
  '--set',
  'url=https://kp.example',
  '--set',
  'image.repository=registry.example/kp',
  '--set-string',
  'image.tag=1',
  '--set',
  'secret.name=kp',
]
const everything = [
  'ingress.enabled=true',
  'web.autoscaling.enabled=true',
  'worker.autoscaling.enabled=true',
  'worker.autoscaling.queueMetric=kp_jobs',
  'networkPolicy.ingressNamespaces={ingress}',
  'secret.external.enabled=true',
  'secret.external.storeName=vault',
  'secret.external.key=kp',
].flatMap((one) => ['--set', one])

const helm = (args: readonly string[], env: Record<string, string> = {}) =>
  new Promise<{ status: number; out: string; err: string }>((done) => {
    execFile(files.helm, args, { env: { ...process.env, ...env } }, (error, out, err) =>
      done({ status: error ? 1 : 0, out, err }),
    )
  })
const template = (...args: string[]) =>
  helm(['template', 'kp', chart, '--kube-version', '1.31.0', ...required, ...args])

const Container = z.looseObject({
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })),
  readinessProbe: z.looseObject({ httpGet: z.looseObject({ path: z.string() }) }).optional(),
  livenessProbe: z.looseObject({ httpGet: z.looseObject({ path: z.string() }) }).optional(),
  securityContext: z.looseObject({ readOnlyRootFilesystem: z.boolean() }),
})
const Workload = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), annotations: z.record(z.string(), z.string()).optional() }),
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        terminationGracePeriodSeconds: z.number().optional(),
        securityContext: z.looseObject({ runAsNonRoot: z.boolean() }),
        containers: z.array(Container),
      }),
    }),
  }),
})

/** Answers like a cluster in which the release has recorded its claims. */
function cluster(claims: Record<string, string>) {
  const answers: Record<string, unknown> = {
    '/version': { major: '1', minor: '31', gitVersion: 'v1.31.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
    '/api/v1': {
      kind: 'APIResourceList',
      groupVersion: 'v1',
      resources: [{ name: 'configmaps', singularName: '', namespaced: true, kind: 'ConfigMap', verbs: ['get'] }],
    },
    '/api/v1/namespaces/default/configmaps/kp-volumes': {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kp-volumes', namespace: 'default' },
      data: claims,
    },
  }
  return createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    const answer = answers[path] ?? {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'NotFound',
      code: 404,
    }
    response.writeHead(path in answers ? 200 : 404, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer))
  })
}

describe.skipIf(!isInstalled('helm'))('the Helm chart', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kp-chart-'))
  const server = cluster({ ledger: 'kp-ledger', mark: 'kp-mark' })
  let env: Record<string, string>
  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const config = join(folder, 'config')
    writeFileSync(
      config,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'default' } }],
        users: [{ name: 'u', user: {} }],
        'current-context': 'c',
      }),
    )
    env = { KUBECONFIG: config, HOME: folder }
  })
  afterAll(async () => {
    await new Promise((done) => server.close(done))
    rmSync(folder, { recursive: true, force: true })
  })

  test('helm lint accepts it, and values without a Secret, an image or a URL are refused', async () => {
    expect((await helm(['lint', chart, '--strict', ...required])).status).toBe(0)
    const refused = await helm(['template', 'kp', chart])
    expect([refused.status, refused.err]).toEqual([1, expect.stringContaining('/url')])
  })

  test('its workloads set only variables that exist, run without root, and stop after their drain', async () => {
    const { out, err } = await template('--is-upgrade', ...everything)
    expect(err).toBe('')
    const objects = parseAllDocuments(out).map((one) => one.toJSON())
    const kinds = objects.map(({ kind }) => kind)
    for (const kind of [
      'PodDisruptionBudget',
      'HorizontalPodAutoscaler',
      'NetworkPolicy',
      'ExternalSecret',
      'Ingress',
      'PersistentVolumeClaim',
    ])
      expect(kinds, kind).toContain(kind)
    const workloads = objects
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .map((one) => Workload.parse(one))
    expect(workloads.map(({ metadata }) => metadata.name).sort()).toEqual(['kp-migrate', 'kp-web', 'kp-worker'])
    for (const { metadata, spec } of workloads) {
      const { containers, securityContext } = spec.template.spec
      expect(securityContext.runAsNonRoot).toBe(true)
      for (const container of containers) {
        expect(container.securityContext.readOnlyRootFilesystem).toBe(true)
        const given = Object.fromEntries(container.env.map(({ name, value }) => [name, value]))
        // The values are accepted, and a name that does not exist would be missing in the result.
        const literal = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
        expect(Object.keys(readEnv({ ...literal })), metadata.name).toEqual(
          expect.arrayContaining(Object.keys(literal)),
        )
        for (const name of ['DATABASE_URL', 'KP_SECRET', 'KP_OBJECTS_URL', 'KP_FILES_URL'])
          expect(given).toHaveProperty(name)
      }
    }
    const web = workloads.find(({ metadata }) => metadata.name === 'kp-web')
    const [container] = web?.spec.template.spec.containers ?? []
    expect(container?.readinessProbe?.httpGet.path).toBe('/ready')
    expect(container?.livenessProbe?.httpGet.path).toBe('/health')
    const drain = Number(container?.env.find(({ name }) => name === 'KP_DRAIN_SECONDS')?.value)
    expect(web?.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drain + 10)
    const job = workloads.find(({ kind }) => kind === 'Job')
    expect(job?.metadata.annotations?.['helm.sh/hook']).toBe('pre-upgrade')
  })

  test('an upgrade that would replace the volume of the ledger by an empty one is refused', async () => {
    const upgrade = (...args: string[]) =>
      helm(
        [
          'template',
          'kp',
          chart,
          '--is-upgrade',
          '--dry-run=server',
          '--kube-version',
          '1.31.0',
          '--namespace',
          'default',
          ...required,
          ...args,
        ],
        env,
      )
    const same = await upgrade()
    expect([same.status, same.err]).toEqual([0, ''])
    const other = await upgrade('--set', 'volumes.ledger.existingClaim=new')
    expect([other.status, other.err]).toEqual([
      1,
      expect.stringContaining('The release uses the claim kp-ledger for the ledger, and these values name new.'),
    ])
    const moved = ['--set', 'volumes.ledger.existingClaim=new', '--set', 'volumes.contentsWereCopied=true']
    expect((await upgrade(...moved)).status).toBe(0)
  })
})
