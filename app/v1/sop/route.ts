import { app, route } from '#lib/app.ts'

export const GET = route(app.sops.list)
export const POST = route(app.sops.contribute)
