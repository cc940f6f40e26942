import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.projects.provenance)
export const POST = route(app.projects.reportProvenance)
