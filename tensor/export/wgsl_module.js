// @NAME@.js: a function that Doorbell exported, for browsers with WebGPU and for Deno.
//
//   import { open } from "./@NAME@.js";
//   const net = await open();                   // weights: @NAME@.safetensors beside this module
//   const results = await net.run({ ... });     // typed arrays and sizes by name, as `program` says
//   net.close();
//
// `program` describes arguments and results. Values are arrays in row-major order; f16, bf16 and fp8
// are their bits, 64-bit integers BigInts. What the function changes is kept from run to run.
export const program = @PROGRAM@;

const kArrays = {
  bool: Uint8Array, uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array,
  uint32: Uint32Array, int32: Int32Array, uint64: BigUint64Array, int64: BigInt64Array,
  float16: Uint16Array, bfloat16: Uint16Array, float32: Float32Array,
};
const kWordsBytes = 256;  // of a uniform's alignment

export const array_of = (dtype) => kArrays[dtype] ?? Uint8Array;
const whole_words = (bytes) => Math.max(4, Math.ceil(bytes / 4) * 4);
const slots_of = (step) => Math.ceil((step.words.length * 4) / kWordsBytes);

function fail(what) {
  throw new Error(`${program.name}: ${what}`);
}

async function request_device() {
  const adapter = await globalThis.navigator?.gpu?.requestAdapter();
  if (!adapter) fail("there is no WebGPU here, or no GPU that it knows");
  for (const [limit, needed] of Object.entries(program.limits))
    if (adapter.limits[limit] < needed)
      fail(`${limit} of this GPU is ${adapter.limits[limit]}, expected at least ${needed}`);
  return adapter.requestDevice({ requiredLimits: program.limits });
}

// A safetensors file: its header's length in eight bytes, the header in JSON, the values.
class Weights {
  constructor(bytes) {
    this.bytes = bytes;
    if (bytes.byteLength < 8) fail("the weights end in their header");
    const length = Number(new DataView(bytes).getBigUint64(0, true));
    if (8 + length > bytes.byteLength) fail("the weights end in their header");
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
    this.begin = 8 + length;
  }
  tensor(name, dtype, bytes) {
    const entry = this.header[name];
    if (!entry) fail(`the weights have no tensor '${name}'`);
    if (entry.dtype !== dtype) fail(`tensor '${name}' is ${entry.dtype}, expected ${dtype}`);
    const [begin, end] = entry.data_offsets;
    if (end - begin !== bytes) fail(`tensor '${name}' has ${end - begin} bytes, expected ${bytes}`);
    if (this.begin + end > this.bytes.byteLength) fail(`the weights end within tensor '${name}'`);
    return new Uint8Array(this.bytes, this.begin + begin, bytes);
  }
}

async function read_weights(weights) {
  if (weights instanceof ArrayBuffer) return new Weights(weights);
  const response = await fetch(weights);
  if (!response.ok) fail(`cannot read ${weights}: ${response.status} ${response.statusText}`);
  return new Weights(await response.arrayBuffer());
}

// Weights: an ArrayBuffer or a URL; a GPUDevice of the caller's needs program.limits.
export async function open(weights = new URL("@NAME@.safetensors", import.meta.url), device = null) {
  const needed = program.memory.some((memory) => memory.weights) ? await read_weights(weights) : null;
  const net = new Net(device ?? (await request_device()), device === null);
  try {
    net.make_memory(needed);
    await net.make_pipelines();
  } catch (error) {
    net.close();
    throw error;
  }
  return net;
}

class Net {
  #lost = null;
  #last = Promise.resolve();

  constructor(device, owned) {
    this.device = device;
    this.owned = owned;
    this.buffers = [];
    device.lost.then((info) => (this.#lost = info.message || info.reason));
  }

  // Releases the memory; the device too, unless it is the caller's.
  close() {
    for (const buffer of this.buffers) buffer.destroy();
    if (this.owned) this.device.destroy();
  }

  make_buffer(bytes, usage) {
    const buffer = this.device.createBuffer({ size: whole_words(bytes), usage });
    this.buffers.push(buffer);
    return buffer;
  }

  // The queue writes whole words.
  write(buffer, values) {
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const padded = new Uint8Array(whole_words(bytes.length));
    padded.set(bytes);
    this.device.queue.writeBuffer(buffer, 0, padded);
  }

  make_memory(weights) {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    this.memory = program.memory.map(({ bytes, weights: name, dtype }) => {
      const buffer = this.make_buffer(bytes, usage);
      if (name) this.write(buffer, weights.tensor(name, dtype, bytes));
      return buffer;
    });
    // Values of writes, until all results are read: one may be another's old value. And of copies
    // within one buffer, which WebGPU refuses.
    this.next = program.writes.map(({ bytes }) => this.make_buffer(bytes, usage));
    const within = program.steps.filter((step) => step.to !== undefined && step.to === step.from);
    if (within.length)
      this.between = this.make_buffer(Math.max(...within.map((step) => step.bytes)), usage);
    // What is read after a run: results, and arguments that it changes.
    this.read = [...program.results, ...program.arguments.filter((value) => value.written)];
    const all = this.read.reduce((sum, { bytes }) => sum + whole_words(bytes), 0);
    this.staging = this.make_buffer(all, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
    const slots = program.steps.reduce((sum, step) => sum + (step.words ? slots_of(step) : 0), 1);
    this.words = new Uint32Array((slots * kWordsBytes) / 4);
    this.uniform = this.make_buffer(this.words.byteLength,
                                    GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
  }

  async make_pipelines() {
    const device = this.device;
    const pipelines = await Promise.all(program.pipelines.map(async ({ entry, written, source }) => {
      const types = ["uniform", ...written.map((is) => (is ? "storage" : "read-only-storage"))];
      const layout = device.createBindGroupLayout({
        entries: types.map((type, binding) => ({
          binding, visibility: GPUShaderStage.COMPUTE, buffer: { type },
        })),
      });
      return device.createComputePipelineAsync({
        label: entry,
        layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module: device.createShaderModule({ code: source }), entryPoint: entry },
      });
    }));
    device.pushErrorScope("validation");
    let slot = 0;
    this.steps = program.steps.map((step) => {
      if (step.pipeline === undefined) return { copy: step };
      const first = slot;
      slot += slots_of(step);
      this.words.set(step.words, (first * kWordsBytes) / 4);
      const pipeline = pipelines[step.pipeline];
      const parts = step.bindings.map(({ memory, offset, bytes }) => ({
        buffer: this.memory[memory], offset, size: bytes,
      }));
      const uniform = {
        buffer: this.uniform, offset: first * kWordsBytes, size: step.words.length * 4,
      };
      const group = device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [uniform, ...parts].map((resource, binding) => ({ binding, resource })),
      });
      return { pipeline, group, groups: step.groups, variables: step.variables, first };
    });
    this.write(this.uniform, this.words);
    const error = await device.popErrorScope();
    if (error) fail(error.message);
  }

  // Results by name. Arrays of arguments that the function changes get their new values. Runs go one
  // after another.
  run(values = {}) {
    const run = this.#last.then(() => this.#run(values));
    this.#last = run.catch(() => {});
    return run;
  }

  set_variables(values) {
    const words = program.variables.map((name) => {
      if (values[name] === undefined) fail(`size '${name}' is missing`);
      const value = BigInt(values[name]);
      return [Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n))];
    });
    if (!words.length) return;
    for (const { variables, first } of this.steps)
      for (const { word, variable } of variables ?? [])
        this.words.set(words[variable], (first * kWordsBytes) / 4 + word);
    this.write(this.uniform, this.words);
  }

  async #run(values) {
    if (this.#lost !== null) fail(`the device is lost: ${this.#lost}`);
    for (const { name, dtype, shape, bytes, memory } of program.arguments) {
      const given = values[name];
      if (!(given instanceof array_of(dtype)) || given.byteLength !== bytes)
        fail(`argument '${name}' is no ${array_of(dtype).name} of shape (${shape.join(", ")})`);
      this.write(this.memory[memory], given);
    }
    this.set_variables(values);
    this.device.pushErrorScope("validation");
    this.device.queue.submit([this.encode()]);
    const error = await this.device.popErrorScope();
    if (error) fail(error.message);
    await this.staging.mapAsync(GPUMapMode.READ);
    const all = this.staging.getMappedRange();
    let at = 0;
    const read = this.read.map(({ dtype, bytes }) => {
      const begin = at;
      at += whole_words(bytes);
      return new (array_of(dtype))(all.slice(begin, begin + bytes));
    });
    this.staging.unmap();
    const results = {};
    this.read.forEach(({ name }, i) => {
      if (i < program.results.length) results[name] = read[i];
      else values[name].set(read[i]);
    });
    return results;
  }

  encode() {
    const encoder = this.device.createCommandEncoder();
    let pass = null;
    const end = () => {
      pass?.end();
      pass = null;
    };
    for (const { copy, pipeline, group, groups } of this.steps) {
      if (copy) {
        end();
        this.copy(encoder, copy);
        continue;
      }
      pass ??= encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(...groups);
    }
    end();
    program.writes.forEach(({ from, bytes }, i) =>
      encoder.copyBufferToBuffer(this.memory[from], 0, this.next[i], 0, bytes));
    let at = 0;
    const read = ({ memory, bytes }) => {
      if (memory >= 0 && bytes > 0)
        encoder.copyBufferToBuffer(this.memory[memory], 0, this.staging, at, whole_words(bytes));
      at += whole_words(bytes);
    };
    program.results.forEach(read);
    program.writes.forEach(({ to, bytes }, i) =>
      encoder.copyBufferToBuffer(this.next[i], 0, this.memory[to], 0, bytes));
    this.read.slice(program.results.length).forEach(read);
    return encoder.finish();
  }

  copy(encoder, { to, to_offset, from, from_offset, bytes }) {
    if (to !== from) {
      encoder.copyBufferToBuffer(this.memory[from], from_offset, this.memory[to], to_offset, bytes);
      return;
    }
    encoder.copyBufferToBuffer(this.memory[from], from_offset, this.between, 0, bytes);
    encoder.copyBufferToBuffer(this.between, 0, this.memory[to], to_offset, bytes);
  }
}
