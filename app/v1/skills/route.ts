import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.skills.list)
export const POST = route(app.skills.contribute)
