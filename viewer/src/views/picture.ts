// The drawn network: a sigma graph whose colors follow the slider without being laid out again.
import Graph from "graphology";
import Sigma from "sigma";
import { NodePointProgram } from "sigma/rendering";
import type { Network } from "../api";
import { stanceColor, type Colors } from "../theme";

const NOT_THERE = -128;

interface Node {
  x: number;
  y: number;
  size: number;
  color: string;
  label: string;
  hidden: boolean;
  highlighted: boolean;
  zIndex: number;
}

export interface Look {
  stances: Int8Array;
  step: number;
  chosen: number | null;
  around: ReadonlySet<number>;
  follows: boolean;
  moved: number[] | null;
  colors: Colors;
}

export class Picture {
  private readonly graph = new Graph<Node>({ multi: true, type: "directed" });
  private readonly drawn: Sigma<Node>;
  private readonly row = new Map<number, number>();
  private readonly shades = new Map<number, string>();
  private shadesOf: Colors | null = null;
  private look: Look | null = null;

  constructor(
    box: HTMLElement,
    private readonly network: Network,
    onPick: (agent: number) => void,
  ) {
    const sizes = this.sizes(null);
    network.agent.forEach((agent, row) => {
      this.row.set(agent, row);
      const size = sizes[row] ?? 1;
      const position = { x: network.x[row] ?? 0, y: network.y[row] ?? 0 };
      const label = network.who[row] ?? "";
      this.graph.addNode(row, { ...position, size, label, color: "#999999", hidden: false, highlighted: false, zIndex: 0 });
    });
    this.drawn = new Sigma<Node>(this.graph, box, {
      allowInvalidContainer: true,
      // Points, not instances of a shape: where a browser draws by software, each instance costs a call of its own.
      nodeProgramClasses: { circle: NodePointProgram },
      hideEdgesOnMove: true,
      labelRenderedSizeThreshold: 11,
      labelDensity: 0.6,
      zIndex: true,
      minEdgeThickness: 0.5,
    });
    this.drawn.on("enterNode", () => (box.style.cursor = "pointer"));
    this.drawn.on("leaveNode", () => (box.style.cursor = ""));
    this.drawn.on("clickNode", ({ node }) => onPick(network.agent[Number(node)] ?? 0));
  }

  show(look: Look): void {
    const same = this.look?.colors === look.colors && this.look.chosen === look.chosen;
    if (this.look?.colors !== look.colors) this.paint(look.colors);
    // Another step changes colors only: then sigma need not index places, edges and labels anew.
    const resized = (this.look?.moved ?? null) !== look.moved;
    const colorsOnly = same && !resized && this.look?.around === look.around && this.look.follows === look.follows;
    this.look = look;
    if (!colorsOnly) this.connect(look);
    if (resized) this.resize(this.sizes(look.moved));
    const attributes: (keyof Node)[] = colorsOnly ? ["color", "hidden"] : ["color", "hidden", "highlighted", "zIndex"];
    this.graph.updateEachNodeAttributes((node, old) => this.dress(Number(node), old, look), { attributes });
    if (!colorsOnly) this.drawn.refresh();
  }

  // By the square root, so that the area tells the number.
  private sizes(moved: number[] | null): number[] {
    const { agent, followers } = this.network;
    const values = moved ? agent.map((id) => moved[id] ?? 0) : followers;
    const most = values.reduce((a, b) => Math.max(a, b), moved ? 1e-12 : 1);
    const base = agent.length > 3000 ? 1.2 : 2.4;
    return values.map((value) => base + 9 * Math.sqrt(value / most));
  }

  private resize(sizes: number[]): void {
    this.graph.updateEachNodeAttributes((node, old) => ({ ...old, size: sizes[Number(node)] ?? 1 }), { attributes: ["size"] });
  }

  private paint(colors: Colors): void {
    this.drawn.setSetting("labelColor", { color: colors.ink });
    this.drawn.setSetting("defaultDrawNodeHover", (context, data) => hover(context, data, colors));
  }

  private dress(row: number, node: Node, look: Look): Node {
    const agent = this.network.agent[row] ?? 0;
    const code = look.stances[agent] ?? NOT_THERE;
    const near = agent === look.chosen || look.around.has(agent);
    if (look.chosen !== null && !near) node.color = look.colors.line;
    else node.color = code === NOT_THERE ? look.colors.ink : this.shade(code, look.colors);
    node.hidden = (this.network.born[row] ?? 0) > look.step;
    node.highlighted = agent === look.chosen;
    node.zIndex = near ? 1 : 0;
    return node;
  }

  private shade(code: number, colors: Colors): string {
    if (this.shadesOf !== colors) this.shades.clear();
    this.shadesOf = colors;
    const known = this.shades.get(code) ?? stanceColor(code / 127, colors);
    this.shades.set(code, known);
    return known;
  }

  // Only follows that are to be seen are in the graph: hidden ones would cost as much to draw.
  private connect(look: Look): void {
    this.graph.clearEdges();
    const from = look.chosen === null ? undefined : this.row.get(look.chosen);
    if (from !== undefined) {
      for (const agent of look.around) {
        const to = this.row.get(agent);
        if (to !== undefined) this.graph.addEdge(from, to, { color: look.colors.muted, size: 0.8 });
      }
    } else if (look.follows) {
      const { edges } = this.network;
      for (let at = 0; at + 1 < edges.length; at += 2) {
        this.graph.addEdge(edges[at], edges[at + 1], { color: look.colors.edge, size: 0.6 });
      }
    }
  }

  zoom(by: number): void {
    const camera = this.drawn.getCamera();
    void camera.animate({ ratio: camera.ratio * by }, { duration: 150 });
  }

  reset(): void {
    void this.drawn.getCamera().animatedReset({ duration: 150 });
  }

  close(): void {
    this.drawn.kill();
  }
}

// The name beside a node, on paper of the scheme; drawn, so that a name cannot be markup.
function hover(
  context: CanvasRenderingContext2D,
  data: { x: number; y: number; size: number; label: string | null; color: string },
  colors: Colors,
): void {
  context.font = "13px system-ui, sans-serif";
  const label = (data.label ?? "").slice(0, 60);
  const width = context.measureText(label).width;
  context.fillStyle = colors.paper;
  context.strokeStyle = colors.line;
  context.beginPath();
  context.roundRect(data.x - data.size - 3, data.y - 11, data.size * 2 + width + 16, 22, 6);
  context.fill();
  context.stroke();
  context.fillStyle = data.color;
  context.beginPath();
  context.arc(data.x, data.y, data.size, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = colors.ink;
  context.fillText(label, data.x + data.size + 6, data.y + 4.5);
}
